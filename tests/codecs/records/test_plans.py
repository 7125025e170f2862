from __future__ import annotations

from typing import Any

import pytest

from kwire.codecs.records import Record, build_batch
from kwire.errors import EncodeError, NotInVersion, WrongType


@pytest.mark.parametrize(
    "arguments, path, text",
    [
        ({"magic": 3}, "magic", "0, 1 or 2 is needed, not int 3"),
        ({"compression": "brotli"}, "compression", "none or gzip or snappy or lz4 or zstd is needed"),
        ({"compression": "zstd", "magic": 1}, "compression", "none or gzip or snappy or lz4 is needed"),
        ({"timestamp_type": "Never"}, "timestamp_type", "CreateTime or LogAppendTime is needed"),
        ({"timestamp_type": "LogAppendTime", "magic": 0}, "timestamp_type", "NoTimestampType or CreateTime is needed"),
        ({"base_offset": "1"}, "base_offset", "int64 is needed, not str '1'"),
        ({"producer_id": None}, "producer_id", "int64 is needed, not NoneType None"),
        ({"producer_id": True}, "producer_id", "int64 is needed, not bool True"),
        ({"max_timestamp": 2**63}, "max_timestamp", "int64: 9223372036854775808 is out of range"),
    ],
)
def test_arguments_of_another_kind_are_refused(arguments: dict[str, Any], path: str, text: str) -> None:
    with pytest.raises(WrongType, match=text) as info:
        build_batch([Record(0)], **arguments)
    assert info.value.path == path


@pytest.mark.parametrize(
    "record, path",
    [
        ("a record", "records[0]"),
        (Record("0"), "records[0].offset"),  # type: ignore[arg-type]
        (Record(2**63), "records[0].offset"),
        (Record(0, None), "records[0].timestamp"),  # type: ignore[arg-type]
        (Record(0, create_timestamp=0.5), "records[0].create_timestamp"),  # type: ignore[arg-type]
        (Record(0, attributes="1"), "records[0].attributes"),  # type: ignore[arg-type]
        (Record(0, headers=("ab", "abc")), "records[0].headers[0]"),  # type: ignore[arg-type]
        (Record(0, headers=5), "records[0].headers"),  # type: ignore[arg-type]
    ],
)
def test_records_of_another_kind_are_refused(record: Any, path: str) -> None:
    with pytest.raises(EncodeError) as info:
        build_batch([record])
    assert info.value.path == path


@pytest.mark.parametrize(
    "magic, arguments, first",
    [
        (1, {"partition_leader_epoch": 0}, 2),
        (1, {"producer_id": 5}, 2),
        (1, {"producer_epoch": 5}, 2),
        (0, {"base_sequence": 5}, 2),
        (0, {"is_transactional": True}, 2),
        (1, {"is_control": True}, 2),
        (1, {"delete_horizon": 5}, 2),
        (1, {"base_timestamp": 5}, 2),
        (1, {"base_offset": 5}, 2),
        (1, {"last_offset": 5}, 2),
        (1, {"max_timestamp": 5}, 2),
    ],
)
def test_what_an_older_magic_would_lose_is_refused(magic: int, arguments: dict[str, Any], first: int) -> None:
    with pytest.raises(NotInVersion, match=f"the first version that has it is {first}") as info:
        build_batch([Record(0)], magic=magic, **arguments)
    assert (info.value.path, info.value.version) == (next(iter(arguments)), magic)


@pytest.mark.parametrize(
    "magic, record, path, first",
    [
        (0, Record(0, 5), "records[0].timestamp", 1),
        (0, Record(0, headers=(("a", None),)), "records[0].headers", 2),  # type: ignore[arg-type]
        (1, Record(0, 5, headers=(("a", None),)), "records[0].headers", 2),  # type: ignore[arg-type]
    ],
)
def test_what_an_older_magic_would_lose_of_a_record_is_refused(
    magic: int, record: Record, path: str, first: int
) -> None:
    with pytest.raises(NotInVersion, match=f"the first version that has it is {first}") as info:
        build_batch([record], magic=magic)
    assert info.value.path == path


def test_a_message_around_nothing_is_refused() -> None:
    with pytest.raises(WrongType, match="records: one record at least is needed"):
        build_batch([], magic=1, compression="gzip")
