"""The page of `kwire explain --html`: fields on one side, bytes on the other, each lighting up the other.

A frame is a closed row until a reader opens it; only then the browser reads its data, which is JSON in a
script element that does not run. The drawing is in `page.js`, which makes nodes of text and never markup.
"""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..codecs import Codec
from ..frames import Request, Result, Undecodable, spans_for
from ..tracing import Span
from .annotate import error_lines
from .document import asset, document, embedded, text
from .layout import heading
from .nodes import nodes
from .tree import is_note, note, title
from .values import count_text, hidden_from

MOST = 1 << 22  # bytes of one frame that are on the page

_TOP = """<header><h1>{heading}</h1>
<p class="hint">Point at a byte or a field; click to keep it. Arrow keys move; left and right fold.</p>
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
        data: all its bytes.
        spans: of `Codec.trace`, or of a result of a tracing `FrameDecoder`.
        codec: of the message, for its title and for names of numbers such as error codes.

    Returns:
        A whole HTML document, which needs nothing else.

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
    """Write a page that shows one decoded frame, as `explain_html` does."""
    return "".join(_page(title(result), [_frame(result, is_open=True)]))


def explain_page(name: str, results: Iterable[Result]) -> Iterator[str]:
    """Yield a page of many frames, piece by piece; the first frame is open.

    Args:
        name: what the page is about, such as the dump's name.
        results: of a `FrameDecoder`; where it did not trace, the frame is read again.
    """
    blocks = (_frame(result, is_open=index == 0) for index, result in enumerate(results))
    yield from _page(name, blocks)


def _page(name: str, blocks: Iterable[str]) -> Iterator[str]:
    def body() -> Iterator[str]:
        yield _TOP.format(heading=text(name))
        yield from blocks
        yield "</main>\n"

    yield from document(f"{name} - kwire", asset("page.css"), asset("page.js"), body())


def _frame(result: Result, *, is_open: bool) -> str:
    members = _members(result.frame.data, spans_for(result), result.codec)
    if isinstance(result, Undecodable) and not is_note(result):
        members["errors"] += [line.strip() for line in error_lines(result.error)]
    kind = "undecodable" if isinstance(result, Undecodable) else "response"
    kind = "request" if isinstance(result, Request) else kind
    return _block(note(result) if is_note(result) else title(result), kind, members, is_open=is_open)


def _block(name: str, kind: str, members: dict[str, Any], *, is_open: bool) -> str:
    return (
        f'<details class="frame {html.escape(kind)}"{" open" if is_open else ""}><summary>{text(name)}</summary>'
        f'<script type="application/json">{embedded(members)}</script></details>\n'
    )


def _members(data: bytes, spans: Sequence[Span], codec: Codec | None) -> dict[str, Any]:
    members: dict[str, Any] = {"bytes": base64.b64encode(data[:MOST]).decode()}
    members["nodes"] = [node for node in nodes(spans, codec) if node.start < MOST]
    members["hidden"] = [[start, span.stop] for span in spans if (start := hidden_from(span)) is not None]
    members["errors"] = [f"the first {MOST} of {len(data)} bytes are shown"] if len(data) > MOST else []
    return members
