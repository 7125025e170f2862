"""Explaining batches: every byte is in one span, whatever is damaged; messages inside keys and values are unfolded."""

from __future__ import annotations

import pytest

from kwire import LogBatch, Record, build_batch
from kwire.capture.logs.batch_spans import ExplainedBytes, explain_batch
from kwire.capture.logs.log_reader import LogReader
from kwire.codecs.records.crc32c import crc32c
from tests.capture.logs.building import BATCHES, LOG
from tests.capture.logs.test_log_topic import COMMIT, record


def explained(data: bytes) -> list[ExplainedBytes]:
    parts = [part for batch in LogReader([data]) if isinstance(batch, LogBatch) for part in explain_batch(batch)]
    return [part for part in parts if part is not None]


def assert_covered(part: ExplainedBytes) -> None:
    at = 0
    for span in part.spans:
        assert (span.start, span.start < span.stop) == (at, True)
        at = span.stop
    assert at == len(part.data)


def test_every_byte_of_every_magic_is_in_one_span() -> None:
    parts = explained(LOG)
    assert len(parts) == 6
    for part in parts:
        assert_covered(part)
        assert not {span.type for span in part.spans} & {"not understood", "left over"}


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_compressed_records_are_explained_apart(magic: int) -> None:
    records = [Record(0, -1 if magic == 0 else 5, b"k", b"v"), Record(1, -1 if magic == 0 else 5, None, b"w")]
    outer, inner = explained(build_batch(records, magic=magic, compression="gzip"))
    assert_covered(outer)
    assert_covered(inner)
    assert [span.value for span in inner.spans if span.path.endswith("value")] == [b"v", b"w"]


def test_bytes_after_no_records_are_left_over_and_not_compressed_records() -> None:
    batch = bytearray(build_batch([Record(0, 5, b"k", b"v")], compression="gzip")[:61] + b"more")
    batch[8:12], batch[57:61] = (len(batch) - 12).to_bytes(4, "big"), bytes(4)
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    (part,) = explained(bytes(batch))
    assert (part.spans[-1].type, part.spans[-1].value) == ("left over", b"more")
    assert_covered(part)


def test_keys_and_values_are_unfolded() -> None:
    (part,) = explained(build_batch([record(*COMMIT), record(*COMMIT, offset=1)]))
    values = {span.path: span.value for span in part.spans}
    assert values["records[1].key.type"] == 1
    assert values["records[1].key.group"] == "g"
    assert values["records[0].value.offset"] == 7
    assert_covered(part)


def test_damage_of_any_byte_leaves_all_bytes_covered() -> None:
    for batch in (*BATCHES, build_batch([record(*COMMIT)])):
        for at in range(21, len(batch)):
            for part in explained(batch[:at] + bytes([batch[at] ^ 0xFF]) + batch[at + 1 :]):
                assert_covered(part)


def of_control(key: str, value: str) -> dict[str, object]:
    """Return the values in a batch with one control record."""
    batch = bytearray(build_batch([Record(0, 5, bytes.fromhex(key), bytes.fromhex(value))], is_control=True))
    (part,) = explained(bytes(batch))
    assert_covered(part)
    return {span.path.removeprefix("records[0]."): span.value for span in part.spans if "records[0]." in span.path}


def test_keys_of_control_records_have_a_version_and_of_values_only_that_of_markers() -> None:
    marker = of_control("0000 0001", "0000 00000094")
    assert (marker["key.version"], marker["key.type"]) == (0, 1)
    assert (marker["value.version"], marker["value.coordinator_epoch"]) == (0, 148)
    leader = of_control("0000 0002", "0000 00000001 01 01 00")  # its version is a field of the message
    assert (leader["key.version"], leader["key.type"]) == (0, 2)
    assert (leader["value.version"], leader["value.leader_id"]) == (0, 1)
    assert (leader["value.voters"], leader["value.granting_voters"]) == (0, 0)
