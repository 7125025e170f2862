"""Raw frames: any bytes are decoded to results that have each of them, whatever the portions in which they arrive."""

from __future__ import annotations

from collections.abc import Iterator

import kwire
from kwire.capture.raw_frames import read_raw_frames
from kwire.render.json_objects.frame_json import json_line
from tests.conftest import ROOT


def fuzz_frames(data: bytes) -> None:
    """Decode the two directions of a connection, mixed."""
    frames = list(read_raw_frames(iter([bytes(data)]), "x"))
    assert b"".join(frame.data for frame in frames) == data
    single = read_raw_frames((bytes([byte]) for byte in data), "x")
    assert [frame.data for frame in single if not frame.fault] == [frame.data for frame in frames if not frame.fault]
    for trace in (False, True):
        for result in kwire.decode_frames(frames, trace=trace, salvage=not trace):
            json_line(result)


def seeds() -> Iterator[bytes]:
    """Yield dumps of frames."""
    for path in sorted((ROOT / "fixtures/dumps").glob("*.bin")):
        yield path.read_bytes()
    yield kwire.encode_request(kwire.messages.SaslHandshakeRequest("PLAIN"), 0) + bytes(4) + b"\0\0\0\2ab"


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_frames, seeds())
