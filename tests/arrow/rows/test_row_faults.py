"""Errors have a code out of a short list."""

from __future__ import annotations

from kwire import errors as faults
from kwire.arrow.rows.row_faults import fault_of
from kwire.errors import DecodeError
from kwire.protocol.frames.stream_faults import BareToken, Encrypted, Gap, NotKafka


def code(error: DecodeError) -> str | None:
    fault = fault_of(error)
    return fault.code if fault else None


def test_codes() -> None:
    found = [
        code(faults.Truncated(need=4, have=1)),
        code(faults.BadLength(found=9, need=9, have=1)),
        code(faults.UnknownApi(found=99)),
        code(faults.UnknownVersion(found=("Metadata", 99, "0-13"))),
        code(faults.UnexpectedResponse(found=1)),
        code(faults.TrailingBytes(have=1)),
        code(faults.BadFrame(found=3, need=4, have=100)),
        code(faults.BadFrame(found=101, need=4, have=100)),
        code(faults.BadBoolean(found=7)),
        code(Gap(5)),
        code(NotKafka(5, found="ZooKeeper")),
        code(Encrypted(5, found="TLS")),
        code(BareToken(5)),
    ]
    assert found == [
        "TRUNCATED",
        "TRUNCATED",
        "UNSUPPORTED_API",
        "UNSUPPORTED_VERSION",
        "NO_REQUEST",
        "TRAILING_BYTES",
        "BAD_SIZE",
        "OVERSIZE",
        "BAD_FIELD",
        "GAP",
        "NOT_KAFKA",
        "NOT_KAFKA",
        None,
    ]


def test_the_place_is_told() -> None:
    fault = fault_of(faults.Truncated(need=4, have=1, segments=("topics", 0, "name"), offset=30))
    assert fault is not None
    assert (fault.field, fault.position, fault.bytes) == ("topics[0].name", 30, None)
    gap = fault_of(Gap(70))
    assert gap is not None
    assert (gap.field, gap.bytes) == (None, 70)
