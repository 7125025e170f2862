"""The page of `kwire explain --html`: fields beside bytes, for one frame or many."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...codecs.message_codec import Codec
from ...codecs.tracing import Span
from ...protocol import Request, Response, Result, Undecodable, spans_for
from ...protocol.message_summary import MessageSummary
from ..colours import Style
from ..frame_line import frame_line
from ..frame_title import is_note, note, title
from ..schema_layout import heading
from ..value_text import count_text, error_lines, hidden_from
from .document import asset, document, embedded, text
from .field_rows import nodes

MOST = 1 << 22  # bytes of one frame that the page shows
WIDEST = 240  # characters of a line of the list, and of a record
_TOP = """<header><h1>{heading}</h1>
<p class="hint">Point at a byte or a field, or click to keep it. Arrow keys move in each list; left and right fold.</p>
<noscript><p class="hint">Fields and bytes need JavaScript; <code>kwire explain</code> prints them as text.</p>
</noscript><nav hidden><input type="search" placeholder="filter: api, client, error ..." aria-label="Filter frames">
<button type="button" data-turn="-1">&larr;<span class="word"> earlier</span></button>
<output></output><button type="button" data-turn="1"><span class="word">later </span>&rarr;</button>
</nav></header>
<main>
"""


def explain_html(data: bytes, spans: Sequence[Span], codec: Codec | None = None) -> str:
    """Write a page that shows the bytes of one message and the fields they belong to.

    Args:
        data: all bytes of the message.
        spans: the spans of `Codec.trace`, or of a result of a tracing `FrameDecoder`.
        codec: the codec of the message, for the title and for names of numbers such as error codes.

    Returns:
        A complete HTML document without external files.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> data = bytes.fromhex("00000001 0003 616263 01")
    >>> page = kwire.explain_html(data, codec.trace(data), codec)
    >>> page[:15], "MetadataRequest v4" in page
    ('<!DOCTYPE html>', True)
    """
    name = heading(codec) if codec else count_text(len(data), "byte")
    block = _block(name, "message", _members(data, spans, codec), is_open=True)
    return "".join(_page(name, [block]))


def result_html(result: Result) -> str:
    """Write a page that shows one decoded frame, like `explain_html`."""
    return "".join(_page(title(result), [_frame(result, is_open=True)]))


def explain_page(
    name: str, results: Iterable[Result], record_lines: Callable[[Result], Iterable[str]] | None = None
) -> Iterator[str]:
    """Yield a page of many frames, piece by piece: a list, and the fields and the bytes of one frame.

    Args:
        name: the title of the page, such as the dump's name.
        results: results of a `FrameDecoder`; if it did not trace, a frame is decoded again. Frames of a capture are
            listed as `kwire decode` prints them.
        record_lines: returns the lines of the records in a frame, which stand below it.
    """
    summary = MessageSummary()
    blocks = (
        _frame(result, is_open=index == 0, summary=summary, records=record_lines(result) if record_lines else ())
        for index, result in enumerate(results)
    )
    yield from _page(name, blocks)


def _page(name: str, blocks: Iterable[str]) -> Iterator[str]:
    def body() -> Iterator[str]:
        yield _TOP.format(heading=text(name))
        yield from blocks
        yield "</main>\n"

    yield from document(f"{name} - kwire", asset("page.css"), asset("page.js"), body())


def _frame(result: Result, *, is_open: bool, summary: MessageSummary | None = None, records: Iterable[str] = ()) -> str:
    members = _members(result.frame.data, spans_for(result), result.codec)
    if isinstance(result, Undecodable) and not is_note(result):
        members["errors"] += [line.strip() for line in error_lines(result.error)]
    kind = "undecodable" if isinstance(result, Undecodable) else "response"
    kind = "request" if isinstance(result, Request) else kind
    if is_note(result):
        name = note(result)
    elif summary is None or result.frame.source.time is None:
        name = title(result)
    else:
        name = frame_line(result, summary, Style(width=WIDEST))
    return _block(name, kind, members, is_open=is_open, attributes=_place(result), records=records)


def _place(result: Result) -> str:
    """Return the HTML attributes that identify a frame and its request."""
    source, request_frame = result.frame.source, result.request_frame if isinstance(result, Response) else None
    numbers = {"frame": source.frame, "request": request_frame}
    named = {key: f"{number} {source.file or ''}" for key, number in numbers.items() if number is not None}
    return "".join(f' data-{key}="{text(value)}"' for key, value in named.items())


def _block(
    name: str,
    kind: str,
    members: dict[str, Any],
    *,
    is_open: bool,
    attributes: str = "",
    records: Iterable[str] = (),
) -> str:
    lines = "\n".join(records)
    shown = f'<pre class="records">{text(lines)}</pre>' if lines else ""
    return (
        f'<details class="frame {kind}"{attributes}{" open" if is_open else ""}><summary>{text(name)}</summary>'
        f'<script type="application/json">{embedded(members)}</script>{shown}</details>\n'
    )


def _members(data: bytes, spans: Sequence[Span], codec: Codec | None) -> dict[str, Any]:
    members: dict[str, Any] = {"bytes": base64.b64encode(data[:MOST]).decode()}
    members["nodes"] = [node for node in nodes(spans, codec) if node.start < MOST]
    members["hidden"] = [[start, span.stop] for span in spans if (start := hidden_from(span)) is not None]
    members["errors"] = [f"the first {MOST} of {len(data)} bytes are shown"] if len(data) > MOST else []
    return members
