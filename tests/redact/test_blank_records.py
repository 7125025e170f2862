"""Payload goes, structure stays; what cannot be understood goes whole."""

from __future__ import annotations

import zlib

from kwire.codecs.records.crc32c import crc32c
from kwire.redact.blank_records import blank_records

RECORDS = bytes.fromhex("1e 00 02 04 04 6b31 06 763132 02 02 68 02 76".replace(" ", ""))


def batch(attributes: int = 0, records: bytes = RECORDS) -> bytes:
    behind_crc = attributes.to_bytes(2, "big") + bytes(4 + 8 + 8 + 8 + 2 + 4) + (1).to_bytes(4, "big") + records
    head = bytes(8) + (len(behind_crc) + 9).to_bytes(4, "big") + bytes(4) + b"\x02"
    return head + crc32c(behind_crc).to_bytes(4, "big") + behind_crc


def test_the_batch_by_hand_is_right() -> None:
    assert RECORDS[0] // 2 == len(RECORDS) - 1
    assert len(batch()) == 61 + len(RECORDS)


def test_keys_values_and_headers_of_records_go() -> None:
    out = blank_records(batch())
    assert out[61:].hex(" ") == "1e 00 02 04 04 78 78 06 78 78 78 02 02 78 02 78"
    assert (out[:17], out[21:61]) == (batch()[:17], batch()[21:61])
    assert int.from_bytes(out[17:21], "big") == crc32c(out[21:])


def test_nulls_stay_and_what_follows_them_goes() -> None:
    records = bytes.fromhex("14 00 02 04 01 01 02 02 68 02 76")  # neither key nor value, and a header
    assert blank_records(batch(records=records))[61:].hex(" ") == "14 00 02 04 01 01 02 02 78 02 78"


def test_two_batches_and_a_cut_one() -> None:
    cut = batch()[:-3]
    out = blank_records(batch() + cut)
    assert out[: len(batch())] == blank_records(batch())
    assert out[len(batch()) :][:61] == cut[:61]
    assert set(out[len(batch()) + 61 :]) == {ord("x")}


def test_what_is_compressed_goes_whole_and_control_batches_stay() -> None:
    assert blank_records(batch(attributes=1))[61:] == b"x" * len(RECORDS)
    assert blank_records(batch(attributes=0x20)) == batch(attributes=0x20)


def test_records_that_make_no_sense_go_whole() -> None:
    for bad in (b"\x1f\0\2\4\4", b"\xff" * 16, b"\x06\0\2\4\4", b"\x08\0\0\0\x40secret"):
        out = blank_records(batch(records=bad))
        assert b"secret" not in out
        assert len(out) == 61 + len(bad)


def test_messages_of_old_formats() -> None:
    for magic, time in ((0, b""), (1, bytes(8))):
        body = bytes([magic, 0]) + time + (2).to_bytes(4, "big") + b"k1" + (3).to_bytes(4, "big") + b"v12"
        old = bytes(8) + (len(body) + 4).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body
        out = blank_records(old + old)
        assert out[: len(old)] == out[len(old) :]
        assert out[16 : len(old)] == body.replace(b"k1", b"xx").replace(b"v12", b"xxx")
        assert int.from_bytes(out[12:16], "big") == zlib.crc32(out[16 : len(old)])


def test_null_values_and_noise() -> None:
    body = bytes([0, 0]) + b"\xff\xff\xff\xff" * 2
    old = bytes(8) + (len(body) + 4).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body
    assert blank_records(old) == old
    assert blank_records(b"") == b""
    assert blank_records(bytes(16) + b"\x07secret") == b"x" * 23
    assert [blank_records(bytes(size)) for size in range(17)] == [b"x" * size for size in range(17)]
