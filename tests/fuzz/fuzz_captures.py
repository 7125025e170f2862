"""Captures: any damage is read, or refused with one error; both ways to read packets agree, in portions of any size."""

from __future__ import annotations

from collections.abc import Iterator

import kwire
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.packets.pcap import MAGICS, PcapReader
from kwire.capture.packets.pcapng import MAGIC, PcapngReader
from kwire.errors import DumpError
from tests.capture.building import Conversation, capture, enhanced, interface, packet_of, section

Frames = list[kwire.Frame]


def fuzz_captures(data: bytes) -> None:
    """Read a pcap or pcapng file at once, in small portions, and packet by packet."""
    if data[:4] not in MAGICS and data[:4] != MAGIC:
        return
    quick, problem = frames_in(data, len(data), one_by_one=False)
    assert described(frames_in(data, len(data), one_by_one=True)) == described((quick, problem))
    assert described(frames_in(data, 37, one_by_one=False)) == described((quick, problem))
    for result in kwire.decode_frames(quick):
        assert result.frame is not None


def frames_in(data: bytes, size: int, *, one_by_one: bool) -> tuple[Frames, str]:
    """Return the frames of a file, and why it cannot be read further.

    Args:
        data: the file.
        size: bytes per portion.
        one_by_one: read no packets on the fast path.
    """
    kind = PcapReader if data[:4] in MAGICS else PcapngReader
    reader = kind((data[start : start + size] for start in range(0, len(data), size)), "x", looks_ahead=True)
    frames = Frames()
    try:
        for frame in FrameExtractor("x").frames((packet for packet in reader) if one_by_one else reader):
            frames.append(frame)
    except DumpError as error:
        return frames, str(error)
    return frames, ""


def described(found: tuple[Frames, str]) -> tuple[list[str], str]:
    """Return what can be compared: faults have no equality."""
    return [f"{frame.source} {frame.data.hex()} {frame.fault}" for frame in found[0]], found[1]


def seeds() -> Iterator[bytes]:
    """Yield small captures of both formats."""
    conversation = Conversation().open().ask(1).ask(2, size=7).close()
    lossy = [segment for number, segment in enumerate(conversation.segments) if number != 5]
    for segments in (conversation.segments, lossy, [*conversation.segments[:4], *conversation.segments[2:]]):
        yield capture(segments)
        blocks = [enhanced(packet_of(segment), (segment.nanoseconds or 0) // 1000) for segment in segments]
        yield b"".join([section(), interface(), *blocks])


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_captures, seeds())
