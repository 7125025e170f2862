"""Byte ranges of raw frames give the rows of the whole file, wherever they are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.arrow.ranges.byte_ranges import ByteRange
from kwire.arrow.ranges.packet_rows import ENTRY
from kwire.arrow.ranges.packet_scan import scan
from kwire.capture.open_dump import open_dump
from tests.arrow.captures import FRAMES, conversation, rows_of, write
from tests.arrow.pieces import content, staged
from tests.conftest import SHARED, each_of
from tests.seeds import seeded

M: Any = kwire.messages
CONVERSATION = conversation(24)
REQUESTS = [frame for frame in CONVERSATION if frame[4:6] == b"\0\3"]
HANDSHAKE = kwire.encode_request(M.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=1)
SHAKEN = kwire.encode_response(M.SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, correlation_id=1)
TOKENS = [HANDSHAKE, SHAKEN, b"\0\0\0\7\0me\0you", b"\0\0\0\0"]
LARGE = kwire.encode_request(M.MetadataRequest(topics=None), 1, correlation_id=5, client_id="x" * 9000)
IMPOSSIBLE = [bytes.fromhex("00820013"), b"\xff" * 4]  # sizes
NESTED = kwire.encode_request(  # frames in a frame
    M.JoinGroupRequest(
        group_id="g",
        member_id="",
        protocol_type="consumer",
        protocols=[M.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"".join(CONVERSATION))],
    ),
    0,
    correlation_id=6,
)
CASES = {
    "requests and responses": b"".join(CONVERSATION),
    "requests alone": b"".join(REQUESTS),
    "responses alone": b"".join(frame for frame in CONVERSATION if frame not in REQUESTS),
    "requests in flight over many ranges": b"".join(
        REQUESTS + [frame for frame in CONVERSATION if frame not in REQUESTS]
    ),
    "tokens": b"".join([*TOKENS, *CONVERSATION]),
    "tokens in the middle": b"".join([*CONVERSATION[:20], *TOKENS, *CONVERSATION[20:]]),
    "a large frame": b"".join([*CONVERSATION[:9], LARGE, *CONVERSATION[9:]]),
    "frames in a frame": b"".join([*CONVERSATION[:9], NESTED, NESTED, *CONVERSATION[9:]]),
    "the end is missing": b"".join([*CONVERSATION, LARGE])[:-300],
    "no frames from the middle on": b"".join([*CONVERSATION[:20], b"\xff" * 700, *CONVERSATION[20:]]),
    "no frames near the end": b"".join([*CONVERSATION, b"\xff" * 700]),
    "zeros": b"".join([*CONVERSATION, bytes(500)]),
    "three bytes are left": b"".join([*CONVERSATION, b"\0\0\0"]),
}


@pytest.mark.parametrize("most", [97, 700])
@pytest.mark.parametrize("case", CASES)
def test_ranges_of_raw_frames_are_the_file(case: str, most: int, tmp_path: Path) -> None:
    path = write(tmp_path, CASES[case])
    for corrupt in (64, 1 << 20):
        options: dict[str, Any] = {"body": "raw", "dumpFormat": "frames", "maxCorruptBytes": corrupt}
        assert content(staged([path], most, **options)) == content(rows_of(path, **options))


def test_any_cut_of_any_bytes(tmp_path: Path) -> None:
    rng = seeded("raw frames")
    for _ in range(12):
        frames = [*CONVERSATION, *TOKENS, *(LARGE for _ in range(rng.randrange(3)))]
        data = bytearray(b"".join(rng.choices(frames, k=rng.randrange(2, 40))))
        for _ in range(rng.randrange(3)):
            place = rng.randrange(len(data))
            stop = place + rng.choice([0, 1, 1, 1, 4])
            data[place:stop] = rng.choice([rng.randbytes(1), rng.randbytes(1), rng.choice(IMPOSSIBLE)])
        path, most = (
            write(tmp_path, bytes(data)),
            rng.choice([rng.randrange(4, 99), rng.randrange(40, len(data) + 99)]),
        )
        options: dict[str, Any] = {"body": "raw", "dumpFormat": "frames", "maxFrameBytes": rng.choice([60, 20_000])}
        options["maxCorruptBytes"] = rng.choice([64, 1 << 20])
        assert content(staged([path], most, **options)) == content(rows_of(path, **options)), (most, data.hex())


def test_the_format_is_recognised_by_its_bytes(tmp_path: Path) -> None:
    for file in (FRAMES, write(tmp_path, CASES["requests and responses"])):
        assert content(staged([file], 50)) == content(rows_of(file, body="raw"))


@each_of("path", sorted(SHARED.glob("captures/*.pcap")) if SHARED.is_dir() else [], most=3, ids=lambda path: path.name)
def test_frames_of_real_captures(path: Path, tmp_path: Path) -> None:
    with open_dump(path) as dump:
        data = b"".join(frame.data for frame in dump.frames if frame.fault is None)
    file = write(tmp_path, data)
    options: dict[str, Any] = {"body": "raw", "dumpFormat": "frames"}
    expected = content(rows_of(file, **options))
    for most in (3000, 20_000):
        assert content(staged([file], most, **options)) == expected


def test_a_reader_asks_of_the_following_ranges_no_longer_than_it_has_to(tmp_path: Path) -> None:
    path = write(tmp_path, b"".join(conversation(1000)))
    size = path.stat().st_size
    for start in range(0, size, 5000):
        split = ByteRange(str(path), start, min(size, start + 5000), "it")
        kinds = [kind for batch in scan(split) for kind in batch.column("kind").to_pylist()]
        assert kinds.count(ENTRY) == (start == 0) + (split.stop < size)


def test_an_impossible_size_over_two_ranges(tmp_path: Path) -> None:
    """The first range says OVERSIZE as the whole file does, although it has only a part of the size."""
    data = CONVERSATION[0] + bytes.fromhex("00820013") + CONVERSATION[1]
    path = write(tmp_path, data)
    options: dict[str, Any] = {"body": "raw", "dumpFormat": "frames", "maxFrameBytes": 20_000}
    for most in range(len(CONVERSATION[0]), len(CONVERSATION[0]) + 6):
        assert content(staged([path], most, **options)) == content(rows_of(path, **options)), most


def test_fragments_after_a_handshake_say_which_sizes_are_read(tmp_path: Path) -> None:
    """SaslHandshake version 0 allows empty frames; a range in which it precedes the impossible size knows that too."""
    data = b"".join([HANDSHAKE, IMPOSSIBLE[1], *CONVERSATION])
    path = write(tmp_path, data)
    options: dict[str, Any] = {"body": "raw", "dumpFormat": "frames"}
    rows = staged([path], 100, **options)
    assert any("sizes from 0 to" in str(row["_error"]) for row in rows)
    assert content(rows) == content(rows_of(path, **options))


def test_a_response_that_looks_like_a_handshake_allows_no_empty_frames(tmp_path: Path) -> None:
    data = b"".join([bytes.fromhex("00000006 0011 0000 0000"), IMPOSSIBLE[1], *CONVERSATION])
    path = write(tmp_path, data)
    options: dict[str, Any] = {"body": "raw", "dumpFormat": "frames"}
    rows = staged([path], 12, **options)
    assert any("sizes from 4 to" in str(row["_error"]) for row in rows)
    assert content(rows) == content(rows_of(path, **options))


def test_a_range_within_what_its_own_reader_takes_for_a_frame(tmp_path: Path) -> None:
    """Two readers agree only after a range: the reader with the true frames hands over its last one whole."""
    data = bytes.fromhex("000000120000005900000000ffff000000130000000000000012000300090000005700026d")
    path = write(tmp_path, data)
    options: dict[str, Any] = {"body": "raw", "dumpFormat": "frames"}
    assert content(staged([path], 4, **options)) == content(rows_of(path, **options))
