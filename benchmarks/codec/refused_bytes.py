"""What refusing bytes costs beside accepting as many good ones: `python -m benchmarks.codec.refused_bytes`.

Arrays of small random elements fill a megabyte; the bad bytes are the good ones without the last. Processor time, the
best of five.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

import kwire
from kwire.codecs.wire import Array
from kwire.errors import DecodeError
from tests.messages.random_values import draw

SIZE, ROUNDS = 1_000_000, 5
MESSAGES = {"MetadataRequest": 9, "MetadataResponse": 12, "LeaderAndIsrRequest": 4, "FetchRequest": 12}
MESSAGES |= {"ProduceRequest": 9, "CreateTopicsRequest": 7, "DescribeConfigsResponse": 4, "ListGroupsRequest": 4}


def bodies(seed: int = 5) -> Iterator[tuple[str, kwire.Codec, bytes]]:
    """Each array of some messages, filled with one small element again and again."""
    rng = Random(seed)
    for name, version in MESSAGES.items():
        codec = kwire.codec(name, version)
        for field in codec.schema.fields:
            if isinstance(field.subcon, Array):
                item = min((draw(field.subcon.element, rng) for _ in range(50)), key=lambda value: len(repr(value)))
                values: dict[str, Any] = {str(one.name): one.default for one in codec.schema.all_fields}
                sizes = [
                    len(codec.encode(codec.message_class(**values | {str(field.name): (item,) * n}))) for n in (1, 2)
                ]
                count = SIZE // (sizes[1] - sizes[0])
                yield (
                    f"{codec.name}:{version} {field.name}",
                    codec,
                    codec.encode(codec.message_class(**values | {str(field.name): (item,) * count})),
                )


def seconds(call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best


def refused(codec: kwire.Codec, data: bytes) -> None:
    with suppress(DecodeError):
        codec.decode(data)
        raise AssertionError


def main() -> None:
    for name, codec, data in bodies():
        good, bad = seconds(lambda: codec.decode(data)), seconds(lambda: refused(codec, data[:-1]))  # noqa: B023
        print(f"{name:<44} {len(data):>9} bytes  good {good * 1e3:7.1f} ms  bad {bad * 1e3:7.1f} ms  {bad / good:4.1f}")


if __name__ == "__main__":
    main()
