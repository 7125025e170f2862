"""Describes a frame in one line, for the title of a tree or a page."""

from __future__ import annotations

from ..protocol import Request, Response, Result, Token, Undecodable
from ..protocol.frames.stream_faults import NoFrame, NotKafka
from .value_text import count_text, duration_text, value_text


def title(result: Result) -> str:
    """Describe a frame in one line: `Metadata v12 request, correlation 3, client "me", 49 bytes, frame 0 at 0`."""
    parts = [_what(result)]
    if not isinstance(result, Request | Response):
        correlation = getattr(result.header, "correlation_id", None)
    else:
        correlation = result.correlation_id
    if correlation is not None:
        parts.append(f"correlation {correlation}")
    if isinstance(result, Request) and result.header is not None:
        client = getattr(result.header, "client_id", None)
        parts.append("no client id" if client is None else f"client {value_text(client)}")
    size = getattr(result.frame.fault, "count", None)
    parts.append(count_text(len(result.frame.data) if size is None else size, "byte"))
    source = result.frame.source
    if source.offset is not None:
        parts.append(f"frame {source.frame} at {source.offset}")
    if isinstance(result, Response) and result.latency is not None:
        request = "its request" if result.request_frame is None else f"frame {result.request_frame}"
        parts.append(f"{duration_text(result.latency)} after {request}")
    return ", ".join(parts)


def is_note(result: Result) -> bool:
    """Return whether a result is only a note: missing bytes, or a stream of another protocol."""
    return isinstance(result, Undecodable) and (not result.frame.data or isinstance(result.error, NotKafka))


def note(result: Result) -> str:
    """Return the note: its text, and its connection."""
    assert isinstance(result, Undecodable)
    source = result.frame.source
    ends = (source.client, source.broker) if source.direction == "request" else (source.broker, source.client)
    return str(result.error) + (f" ({ends[0]} to {ends[1]})" if source.client else "")


def _what(result: Result) -> str:
    if isinstance(result, Token):
        return f"SASL token from the {'client' if result.from_client else 'broker'}"
    if isinstance(result, Undecodable) and isinstance(result.frame.fault, NoFrame):
        return "no frame"
    if isinstance(result, Undecodable):
        name = f", it looks like {result.codec.name} v{result.codec.version}" if result.codec else ""
        return f"{'undecodable' if result.is_failure else 'incomplete'} frame{name}"
    spec = result.codec.spec
    if spec.type not in ("request", "response"):
        return f"{spec.name} v{result.codec.version}"
    words = f"{spec.api_name} v{result.api_version} {spec.type}"
    return words + (f" (answered in v{result.codec.version})" if result.codec.version != result.api_version else "")
