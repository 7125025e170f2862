"""What headers cost beside bodies: 100,000 small frames cut, paired, peeked at and decoded, each in its own time.

    .venv/bin/python -m benchmarks.codec.frame_headers [--frames 100000] [--rounds 5]

The frames are one conversation: Heartbeat, Fetch without records and Metadata of one topic, each with its answer. What
is printed are microseconds a frame, the median of the rounds, and how many times as long it takes to decode them.
"""

from __future__ import annotations

import argparse
import statistics
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import kwire
from benchmarks.lib.rounds import once
from kwire import Frame, FrameDecoder, FrameReader, HeaderReader, Source

M: Any = kwire.messages
PORTION = 1 << 16  # bytes, as a socket gives them
SIDES = Source(connection=1, direction="request"), Source(connection=1, direction="response")


def conversation(frames: int) -> tuple[bytes, bytes]:
    """Return what a client says, and what the broker answers."""
    topic = M.MetadataResponse.MetadataResponseTopic
    exchanges = [
        (M.HeartbeatRequest(group_id="readers", member_id="one"), M.HeartbeatResponse(), 4),
        (M.FetchRequest(max_wait_ms=500, session_id=7, session_epoch=3), M.FetchResponse(session_id=7), 11),
        (
            M.MetadataRequest(topics=[M.MetadataRequest.MetadataRequestTopic(name="orders")]),
            M.MetadataResponse(topics=[topic(name="orders", partitions=[topic_partition()])]),
            9,
        ),
    ]
    asked, answered = bytearray(), bytearray()
    for number in range(frames // 2):
        request, response, version = exchanges[number % len(exchanges)]
        asked += kwire.encode_request(request, version, correlation_id=number, client_id="reader-1")
        answered += kwire.encode_response(response, version, correlation_id=number)
    return bytes(asked), bytes(answered)


def topic_partition() -> Any:
    return M.MetadataResponse.MetadataResponsePartition(leader_id=1, replica_nodes=(1, 2, 3), isr_nodes=(1, 2))


def cut(data: bytes) -> Iterator[Frame]:
    """Cut one side into frames, as its bytes come."""
    reader = FrameReader()
    for start in range(0, len(data), PORTION):
        yield from reader.feed(data[start : start + PORTION])


def in_turn(asked: bytes, answered: bytes) -> Iterator[Frame]:
    """Yield requests, each with its answer."""
    request, response = SIDES
    for one, other in zip(cut(asked), cut(answered), strict=True):
        yield Frame(one.data, request)
        yield Frame(other.data, response)


def paired(frames: Iterator[Frame]) -> int:
    """Read all headers; return how many answers belong to a request."""
    read = HeaderReader().read
    return sum(read(frame).is_request is False for frame in frames)


def exhaust(items: Iterator[Any]) -> None:
    deque(items, maxlen=0)


def tasks(asked: bytes, answered: bytes) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by its name; the last is what the others are compared with."""
    frames = list(in_turn(asked, answered))
    assert paired(iter(frames)) == len(frames) // 2
    decoded = list(kwire.decode_frames(frames[:600]))
    assert all(isinstance(result, kwire.Request | kwire.Response) for result in decoded)
    return {
        "cut": lambda: (exhaust(cut(asked)), exhaust(cut(answered))),
        "cut and pair": lambda: paired(in_turn(asked, answered)),
        "pair": lambda: paired(iter(frames)),
        "peek": lambda: exhaust(map(kwire.peek, frames)),
        "decode one api of three": lambda: exhaust(kwire.decode_frames(frames, wanted=lambda peek: peek.api_key == 3)),
        "decode": lambda: exhaust(map(FrameDecoder().decode, frames)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--frames", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    wanted = tasks(*conversation(options.frames))
    times = [{name: once(task) for name, task in wanted.items()} for _ in range(options.rounds)]
    print(f"{options.frames} frames, {options.rounds} rounds      us a frame   decode takes")
    for name in wanted:
        each = statistics.median(one[name] for one in times) / options.frames * 1e6
        ratios = sorted(one["decode"] / one[name] for one in times)
        middle = f"{statistics.median(ratios):5.1f} times as long ({ratios[0]:.1f} to {ratios[-1]:.1f})"
        print(f"  {name:<28} {each:8.2f}   {middle}")


if __name__ == "__main__":
    main()
