"""The latency of a response, and the number of its request's frame."""

from __future__ import annotations

from ..protocol.frames.captured_frame import SECOND
from ..protocol.headers.header import Header
from ..protocol.results import seconds_between
from .value_text import duration_text


def link_text(latency: float | None, request_frame: int | None) -> str:
    """Format the latency of a response and the frame number of its request.

    >>> link_text(0.2582, 21), link_text(None, 21), link_text(None, None)
    ('258ms @21', '@21', '')
    """
    took = [] if latency is None else [duration_text(latency)]
    return " ".join(took if request_frame is None else [*took, f"@{request_frame}"])


def link_of(header: Header, now: int) -> tuple[float | None, int | None]:
    """Return the latency of a response in seconds, and the frame number of its request.

    Args:
        header: the header of the response, from `Connection.pair`.
        now: the capture time of the response, in nanoseconds.
    """
    request = header if header.is_request else header.request
    if request is None:
        return None, None
    asked_at = None if request.time is None else request.time / SECOND
    return seconds_between(asked_at, now / SECOND), request.frame
