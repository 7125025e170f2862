"""Display filters: a text is refused with its column, or it answers yes or no for each frame."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import kwire
from kwire.protocol import Request, Response, Result
from kwire.query.display_filter import parse_filter, parse_path
from kwire.query.filter_error import FilterError
from tests.conftest import ROOT

SAMPLES = [
    'api == Metadata and topics[].name == "orders"',
    "latency > 1.5s or not (error_code == REBALANCE_IN_PROGRESS)",
    "api in (Fetch, Produce) and version >= 7",
    'client_id contains "app" and topics[0].name != "x"',
    "type == response and correlation_id < 0x10",
    "time >= 2026-01-01T00:00:00Z",
    "size > 100 and (api_key == 3 or frame == 1)",
    'topic_id == "AAAAAAAAAAAAAAAAAAAAAQ"',
    "throttle_time_ms",
    'client matches "^a[b-d]+$"',
]


@cache
def results() -> list[Result]:
    """Return results of several kinds."""
    frames = [*kwire.read_dump(ROOT / "fixtures/dumps/kafka-3.9-zk.bin"), kwire.Frame(b"\0\0\0\4abcd")]
    return list(kwire.decode_frames([*frames, *kwire.read_dump(ROOT / "fixtures/dumps/kafka-4.4-metadata.bin")]))


def fuzz_filters(data: bytes) -> None:
    """Parse a filter and apply it; parse it as a path too."""
    text = data.decode("utf-8", "replace")
    try:
        parse_path(text)
    except FilterError as error:
        assert str(error)
    if "matches" in text:  # Python's own expressions may take exponential time; a bound is the filter's business
        return
    try:
        wanted = parse_filter(text)
    except FilterError as error:
        assert error.problem
        assert 0 <= error.column <= len(text) + 1
        return
    for result in results():
        is_wanted = wanted(result)
        assert is_wanted in (True, False)
        if is_wanted and isinstance(result, Request | Response) and result.api_key is not None:
            assert wanted.may_hold(result.api_key, isinstance(result, Request))


def seeds() -> Iterator[bytes]:
    """Yield filters."""
    yield from (text.encode() for text in SAMPLES)


if __name__ == "__main__":
    from tests.fuzz.running import run

    run(fuzz_filters, seeds())
