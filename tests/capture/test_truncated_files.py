"""Files that end too early: what comes before is read, and a remark says where they end."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kwire
from kwire.capture.open_capture import open_packets
from kwire.errors import DumpError
from kwire.protocol.frames.stream_faults import BrokenDump
from tests.arrow.captures import FRAMES, PCAP
from tests.capture.building import block, enhanced, interface, section
from tests.cli.input.test_non_kafka_streams import run_command
from tests.cli.test_main import ran

CUT = 29561 + 16 + 423  # inside the 185th packet of `PCAP`, whose record has 542 bytes
REMARK = (
    "the capture ends inside a packet: 103 of the 542 bytes of its record are missing "
    "(after 184 packets, at offset 29561)"
)
# commands -> their exit code for a capture that is cut, and for one whose compression is cut
COMMANDS = {
    "decode": (0, 1),
    "decode --jsonl": (0, 1),
    "decode --count": (0, 1),
    "stats": (0, 0),
    "stats --errors": (0, 0),
    "check": (0, 1),
    "explain": (0, 1),
    "report": (0, 1),
    "cluster": (0, 0),
    "redact -o OUT": (0, 0),
    "slice --api Metadata -w OUT": (0, 0),
}


def numbered() -> list[bytes]:
    """The blocks of `PCAP` as pcapng."""
    with open_packets(PCAP) as packets:
        return [section(), interface(), *(enhanced(one.data, (one.nanoseconds or 0) // 1000) for one in packets)]


@pytest.fixture
def cut(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A capture that is cut inside a packet, and one whose compression is cut."""
    whole = PCAP.read_bytes()
    plain, packed = tmp_path / "cut.pcap", tmp_path / "cut.pcap.gz"
    plain.write_bytes(whole[:CUT])
    packed.write_bytes(gzip.compress(whole)[:7000])
    yield plain, packed


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_says_where_a_capture_ends(
    command: str, cut: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, packed = COMMANDS[command]
    words = [str(tmp_path / "out") if word == "OUT" else word for word in command.split()]
    code, _, remarks = run_command(capsys, *words, str(cut[0]))
    assert (code, f"kwire: {cut[0]}: {REMARK}\n" in remarks) == (plain, True)
    code, _, remarks = run_command(capsys, *words, str(cut[1]))
    said = "the gzip data ends in the middle (offset 7000); the file was cut short there; what comes before is read\n"
    assert (code, f"kwire: {cut[1]}: {said}" in remarks) == (packed, True)


def test_pcapng_says_it_in_the_same_words(tmp_path: Path) -> None:
    blocks = numbered()
    start = len(b"".join(blocks[:50]))
    path = tmp_path / "cut.pcapng"
    path.write_bytes(b"".join(blocks[:51])[:-9])
    size = len(blocks[50])
    assert remarks_of(path) == [
        f"the capture ends inside a packet: 9 of the {size} bytes of its record are missing "
        f"(after 48 packets, at offset {start})"
    ]
    path.write_bytes(b"".join(blocks[:50]) + block(5, bytes(40))[:-20])
    assert remarks_of(path) == [
        f"the capture ends inside a block of type 5: 20 of the 52 bytes of its record are missing "
        f"(after 48 packets, at offset {start})"
    ]


def remarks_of(path: Path) -> list[str]:
    """Read a dump to its end, and return its remarks."""
    with kwire.open_dump(path) as dump:
        assert list(dump.frames)
    return dump.remarks


def test_nothing_is_said_of_whole_captures() -> None:
    assert remarks_of(PCAP) == []


def jsonl() -> bytes:
    from kwire.render.json_objects.frame_json import json_line

    frames = kwire.decode_frames(kwire.read_dump(FRAMES))
    return "".join(f"{json_line(result)}\n" for result in frames).encode()


def hexdump() -> bytes:
    data = FRAMES.read_bytes()
    return "".join(f"{at:08x}: {data[at : at + 16].hex(' ')}\n" for at in range(0, len(data), 16)).encode()


def without_frames() -> bytes:
    """A frame, then bytes with an impossible size."""
    return FRAMES.read_bytes()[:116] + bytes(99_999)


@pytest.mark.parametrize("form", ["frames", "requests", "hex", "no frames"])
def test_what_comes_before_the_end_of_compressed_data_is_read(form: str, tmp_path: Path) -> None:
    data = {"frames": FRAMES.read_bytes, "requests": jsonl, "hex": hexdump, "no frames": without_frames}
    content = data[form]()
    path = tmp_path / "cut.gz"
    packed = gzip.compress(content, 1)
    path.write_bytes(packed[: len(packed) * 3 // 4])
    with kwire.open_dump(path) as dump:
        *frames, last = dump.frames
    assert isinstance(last.fault, BrokenDump)
    assert last.fault.offset == len(packed) * 3 // 4
    assert re.match("the gzip data ends in the middle", dump.remarks[-1])
    read = b"".join(frame.data for frame in frames)
    if form == "no frames":
        assert content.startswith(read)
        assert len(read) > len(content) // 2
    else:
        assert FRAMES.read_bytes().startswith(read)
        assert len(read) > len(FRAMES.read_bytes()) // 2


def test_text_that_makes_no_sense_without_its_end_is_refused_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(json.dumps({"requestHeader": ["x" * 9] * 9_999}).encode())[:-40])
    with pytest.raises(DumpError, match="the gzip data ends in the middle"):
        list(kwire.read_dump(path))
    done = ran("decode", str(path))
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 2
