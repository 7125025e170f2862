"""Small calls, beside decoding a small body: `python -m benchmarks.codec.small_calls`.

Finding a codec, encoding and decoding single frames, and refusing a body. Processor time, by turns; what the calls
return is asserted first.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import kwire
from benchmarks.lib.rounds import round_robin, timer

M = kwire.messages
FRAMES = 1000


def calls() -> dict[str, tuple[Callable[[], Any], int]]:
    """Return the calls, and how many frames each of them reads or writes."""
    message = M.MetadataRequest(topics=None)
    codec = kwire.codec("MetadataRequest", 4)
    body = codec.encode(message)
    asked = kwire.encode_request(message, 4, correlation_id=7, client_id="me")
    answered = kwire.encode_response(M.MetadataResponse(controller_id=3), 4, correlation_id=7)
    request = kwire.decode_request(asked)
    assert request.message == message and kwire.codec("MetadataRequest", 4) is codec
    assert kwire.decode_response(answered, request).message.controller_id == 3
    frames = [
        kwire.Frame(asked, kwire.Source(connection=1, direction="request")),
        kwire.Frame(answered, kwire.Source(connection=1, direction="response")),
    ] * (FRAMES // 2)
    assert all(isinstance(result, kwire.Request | kwire.Response) for result in kwire.decode_frames(frames))
    response = kwire.codec("MetadataResponse", 4)
    good = response.encode(M.MetadataResponse(controller_id=3))

    def refuse(data: bytes) -> None:
        with suppress(kwire.DecodeError):
            response.decode(data)
            raise AssertionError

    return {
        "codec.decode of a small body": (lambda: codec.decode(body), 1),
        "kwire.codec": (lambda: kwire.codec("MetadataRequest", 4), 1),
        "encode_request": (lambda: kwire.encode_request(message, 4, correlation_id=7, client_id="me"), 1),
        "decode_request": (lambda: kwire.decode_request(asked), 1),
        "decode_response": (lambda: kwire.decode_response(answered, request), 1),
        "decode_frames, a frame": (lambda: list(kwire.decode_frames(frames)), FRAMES),
        "a body with a byte after it, refused": (lambda: refuse(good + b"x"), 1),
        "a truncated body, refused": (lambda: refuse(good[:-2]), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Time small calls, beside decoding a small body.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--slot", type=float, default=0.05, help="seconds of a turn")
    options = parser.parse_args()
    timed = calls()
    run = {name: timer(call, [()], time.process_time) for name, (call, _) in timed.items()}
    (times,) = round_robin([run], options.rounds, options.slot, warm=0.01)
    base = statistics.median(next(iter(times.values())))
    for name, taken in times.items():
        seconds = statistics.median(taken) / timed[name][1]
        print(f"{name:<40} {seconds * 1e6:7.2f} us   {seconds / base:6.1f} times the decode")


if __name__ == "__main__":
    main()
