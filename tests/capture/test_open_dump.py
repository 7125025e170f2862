"""Opening a dump: what it is taken for, and its frames one by one, with nothing lost."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kwire.capture import open_file, raw_frames
from kwire.capture.open_dump import open_dump, read_dump
from kwire.capture.open_text import open_hex
from kwire.capture.portions import PORTION
from kwire.capture.request_logs import request_log
from kwire.errors import DumpError
from kwire.protocol import Frame
from tests.capture.packet_text.test_packet_text import ASKED, TCPDUMP, packet
from tests.capture.request_logs.test_request_log import LINE

FRAMES = [bytes.fromhex(text) for text in ("00000004 00000007", "00000006 00000008 abcd", "00000005 00000009 ff")]
RAW = b"".join(FRAMES)
HEX = """\
00000000: 0000 0004 0000 0007 0000 0006 0000 0008  ................
00000010: abcd 0000 0005 0000 0009 ff              ...........
"""
FIXTURE = """\
# fixture: Broker v0 body
# profile: KIP-36
# writer: by hand
00000000  00 00 00 07 00 00  a
00000006  00 00 00 01  b
"""

Write = Callable[[bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(data: bytes) -> Path:
        (tmp_path / "dump.txt").write_bytes(data)
        return tmp_path / "dump.txt"

    return write


def seen(frames: list[Frame]) -> list[tuple[bytes, str | None, int | None, int | None]]:
    return [
        (frame.data, Path(frame.source.file or "").name, frame.source.frame, frame.source.offset) for frame in frames
    ]


PLACED = [(FRAMES[0], "dump.txt", 0, 0), (FRAMES[1], "dump.txt", 1, 8), (FRAMES[2], "dump.txt", 2, 18)]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (RAW, "raw frames"),
        (HEX.encode(), "hex text (xxd)"),
        (b"\xef\xbb\xbf" + HEX.encode(), "hex text (xxd)"),
        (b"\n\r\n" + HEX.encode(), "hex text (xxd)"),
        (HEX.replace("\n", "\r\n").encode(), "hex text (xxd)"),
        (RAW.hex().encode(), "hex text (plain hex)"),
        (RAW.hex(" ").upper().encode(), "hex text (plain hex)"),
    ],
)
def test_a_dump_is_told_by_its_content_and_gives_its_frames(data: bytes, kind: str, write: Write) -> None:
    path = write(data)
    with open_dump(path) as dump:
        assert dump.kind == kind
        assert seen(list(dump.frames)) == PLACED
        assert dump.remarks == []
    assert seen(list(read_dump(str(path)))) == PLACED


def test_a_fixture_is_a_frame_with_its_message(write: Write) -> None:
    with open_dump(write(FIXTURE.encode())) as dump:
        (frame,) = dump.frames
    assert dump.kind == "a fixture"
    assert frame.data == bytes.fromhex("000000070000 00000001")
    assert (frame.message, frame.version, frame.bare, frame.profile) == ("Broker", 0, True, "KIP-36")
    assert seen([frame]) == [(frame.data, "dump.txt", 0, 0)]


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"\x00\x01ab", "a bare body"), (b"\x00", "a bare body"), (b"00 01 61 62", "hex text (plain hex)")],
)
def test_a_bare_body_is_one_frame_whatever_is_in_it(data: bytes, kind: str, write: Write) -> None:
    with open_dump(write(data), bare=True) as dump:
        (frame,) = dump.frames
    assert dump.kind == kind
    assert frame.bare
    assert frame.data == (data if kind == "a bare body" else b"\x00\x01ab")
    assert (frame.source.frame, frame.source.offset) == (0, 0)


@pytest.mark.parametrize("cut", [1, 3, 4, 5, 7, 9, 11, 17, 20])
def test_a_cut_tail_is_a_last_frame(cut: int, write: Write) -> None:
    frames = list(read_dump(write(RAW[:cut])))
    assert b"".join(frame.data for frame in frames) == RAW[:cut]
    whole = sum(size <= cut for size in (8, 18))
    assert [frame.data for frame in frames[:whole]] == FRAMES[:whole]
    assert frames[whole].source.frame == whole
    assert frames[whole].source.offset == (0, 8, 18)[whole]


@pytest.mark.parametrize("size", ["ffffffff", "80000000", "00000000", "00000003", "7fffffff"])
def test_an_impossible_size_ends_the_dump_with_all_that_is_left(size: str, write: Write) -> None:
    rest = bytes.fromhex(size) + b"\x00" * 70_000 + FRAMES[0]
    frames = list(read_dump(write(FRAMES[0] + rest)))
    assert seen(frames) == [PLACED[0], (rest, "dump.txt", 1, 8)]


def test_what_follows_an_impossible_size_comes_in_pieces(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_file, "PORTION", 10)
    monkeypatch.setattr(raw_frames, "PIECE", 20)
    for size, sizes in ((45, [8, 22, 20, 3]), (42, [8, 22, 20])):
        frames = list(read_dump(write(FRAMES[0] + b"\xff" * size)))
        assert [len(frame.data) for frame in frames] == sizes
        assert [frame.source.offset for frame in frames] == [0, 8, 30, 50][: len(sizes)]
        assert [frame.source.frame for frame in frames] == [0, 1, 2, 3][: len(sizes)]


def test_frames_longer_than_a_portion_are_put_together(write: Write) -> None:
    long = (200_000).to_bytes(4, "big") + bytes(200_000)
    assert [frame.data for frame in read_dump(write(RAW + long + RAW))] == [*FRAMES, long, *FRAMES]


class Slow(io.RawIOBase):
    """A stream that gives three bytes at a time, and says how many it gave."""

    def __init__(self, data: bytes) -> None:
        self.inner = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self.inner.read(3 if size == PORTION else size)


def standard_input(monkeypatch: pytest.MonkeyPatch, buffer: Any) -> None:
    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": buffer})())


@pytest.mark.parametrize("make", [io.BytesIO, Slow])
@pytest.mark.parametrize("data", [RAW, HEX.encode(), RAW.hex().encode()])
def test_a_hyphen_is_standard_input(make: Any, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    standard_input(monkeypatch, make(data))
    assert seen(list(read_dump("-"))) == [(data, "-", number, offset) for data, _, number, offset in PLACED]


def test_the_first_frame_is_there_before_the_input_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(RAW)
    standard_input(monkeypatch, slow)
    frames = read_dump("-")
    assert next(frames).data == FRAMES[0]
    assert slow.inner.tell() == 9
    assert [frame.data for frame in frames] == FRAMES[1:]


def test_packets_in_hex_text_give_the_frames_they_carry(write: Write) -> None:
    with open_dump(write(TCPDUMP.encode())) as dump:
        asked, answer = dump.frames
    assert dump.kind == "hex text (tcpdump -X), packets: raw IP"
    assert (asked.data, answer.data[:4].hex()) == (ASKED, "0000000a")
    assert (asked.source.file, asked.source.client) == (str(write(b"")), "127.0.0.1:50000")


def xdump(*packets: bytes) -> str:
    lines = (f"\t0x{at:04x}:  {one[at : at + 16].hex(' ', 2)}\n" for one in packets for at in range(0, len(one), 16))
    return "22:13:20 IP\n" + "".join(("22:13:20 IP\n" + line) if "0x0000" in line else line for line in lines)


def test_what_is_missing_between_packets_and_what_is_no_packet_is_remarked_on() -> None:
    text = xdump(packet(100, ASKED), bytes(40), packet(100 + len(ASKED) + 7, ASKED))
    dump = open_hex(text, "x")
    assert dump.remarks == []
    assert [frame.data for frame in dump.frames] == [ASKED, ASKED]
    assert dump.remarks == ["7 bytes are missing between the packets", "1 packets without TCP were left out"]
    dump = open_hex(xdump(RAW), "x")
    assert [frame.data for frame in dump.frames] == FRAMES
    assert dump.remarks == ["no packet with TCP was recognised: the bytes are taken as they are"]
    (frame,) = open_hex(text, bare=True).frames
    assert frame.data.startswith(packet(100, ASKED))


@pytest.mark.parametrize("portion", [7, 100, 1 << 16])
def test_a_log_of_requests_gives_a_frame_for_each(portion: int, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_file, "PORTION", portion)
    path = write(f"{LINE}\nno request\n{LINE}".encode())
    with open_dump(path) as dump:
        assert (dump.kind, dump.remarks) == ("a log of requests", [])
        kinds = [frame.data[4:8].hex() for frame in dump.frames]
        assert kinds == ["00030004", "00011170"] * 2
        assert dump.remarks == ["1 lines without a request were left out"]


def test_a_line_of_a_log_has_a_limit(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "LIMIT", len(LINE))
    assert len(list(read_dump(write(LINE.encode())))) == 2
    with pytest.raises(DumpError, match=f"a line of more than {len(LINE)} bytes"):
        list(read_dump(write((LINE + " ").encode())))


def test_an_empty_dump_is_refused(write: Write) -> None:
    path = write(b"")
    with pytest.raises(DumpError) as caught:
        list(read_dump(path))
    assert str(caught.value) == f"{path}: file is empty"


def test_text_that_is_no_hex_is_refused_with_its_line(write: Write) -> None:
    path = write(b"# a comment\n0001\nhello\n")
    with pytest.raises(DumpError) as caught, open_dump(path):
        pass
    assert (caught.value.file, caught.value.line) == (str(path), 3)


@pytest.mark.parametrize(("data", "bare"), [(b"00" * 40, False), (b"\x00" * 80, True)])
def test_what_is_read_in_one_piece_has_a_limit(
    data: bytes, bare: bool, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_file, "PORTION", 10)
    monkeypatch.setattr(open_file, "LONGEST_TEXT", 80)
    assert b"".join(frame.data for frame in read_dump_of(write(data), bare)) in (bytes(40), bytes(80))
    monkeypatch.setattr(open_file, "LONGEST_TEXT", 79)
    with pytest.raises(DumpError, match="more than 79 bytes in one piece; split it"):
        read_dump_of(write(data), bare)


def read_dump_of(path: Path, bare: bool) -> list[Frame]:
    with open_dump(path, bare=bare) as dump:
        return list(dump.frames)


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_dump(tmp_path / "none"))


def test_hex_at_hand_is_a_dump_too() -> None:
    dump = open_hex(HEX)
    assert seen(list(dump.frames)) == [(data, "--hex", number, offset) for data, _, number, offset in PLACED]
    (frame,) = open_hex("00 07", "mine", bare=True).frames
    assert (frame.data, frame.bare, frame.source.file) == (b"\x00\x07", True, "mine")
    with pytest.raises(DumpError, match="mine:1: "):
        open_hex("hello", "mine")
