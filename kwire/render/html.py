"""Renders HTML: the page of `kwire explain --html` (fields beside bytes), and messages in notebooks.

Pages load nothing from the network.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ..codecs import Codec, Span, codec
from ..messages.classes import find_spec
from ..protocol import Request, Response, Result, Token, Undecodable, cut_frames, decode_frames, spans_for
from ..protocol.results import MessageSummary
from ..redact.masking import mask
from ..spec.catalog import Catalog
from .annotate import SEGMENT, joined, span_text
from .line import frame_line
from .schema_text import heading
from .style import Style, escape
from .tree import is_note, note, title
from .value_text import Meaning, count_text, error_lines, hidden_from, with_name


def document(title: str, style: str, script: str, body: Iterable[str]) -> Iterator[str]:
    """Yield an HTML document, piece by piece.

    Args:
        title: plain text.
        style: trusted CSS.
        script: trusted JavaScript, which runs after the body; empty for none.
        body: HTML.
    """
    allowed = f"'{digest(script)}'" if script else "'none'"
    policy = f"default-src 'none'; style-src '{digest(style)}'; script-src {allowed}; base-uri 'none'"
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="dark light">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
    )
    yield from body
    if script:
        yield f"<script>{script}</script>\n"
    yield "</body>\n</html>\n"


def text(value: object) -> str:
    """Escape a value for HTML text or a quoted attribute: without markup and invisible characters.

    >>> text("<b>" + chr(0x202E))
    '&lt;b&gt;\\\\u202e'
    """
    return html.escape(escape(str(value)))


def embedded(value: Any) -> str:
    """Format plain values as JSON that is safe inside a script element with a data type.

    >>> embedded("</script><!--")
    '"\\\\u003c/script>\\\\u003c!--"'
    """
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


@cache
def asset(name: str) -> str:
    """Return a style or a script from the folder of this module."""
    return Path(__file__).with_name(name).read_text("utf-8")


def digest(source: str) -> str:
    """Return the digest of a style or script in the format of a Content-Security-Policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


LONGEST = 400  # maximum characters of a value, and of the list of an array of numbers


class Node(NamedTuple):
    """A field, or a struct that contains fields.

    `name` is one segment of a path: `topics`, `[0]`; `start` and `stop` delimit the bytes of the field itself, which
    are empty for a struct without a marker; `faults` are the faults of these bytes.
    """

    depth: int
    name: str
    start: int
    stop: int
    type: str
    value: str
    faults: tuple[str, ...] = ()


def nodes(spans: Iterable[Span], codec: Codec | None = None) -> Iterator[Node]:
    """Yield the fields of a frame in the order of their bytes, each struct before its fields.

    Args:
        spans: the spans of `Codec.trace`, or of a result of a tracing `FrameDecoder`.
        codec: the codec of the message, for the names of numbers such as error codes.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> for node in nodes(codec.trace(bytes.fromhex("00000001 0003 616263 01"))):
    ...     print("  " * node.depth + node.name, node.start, node.stop, node.value)
    topics 0 4 1 item
      [0] 4 4
        name 4 9 "abc"
    allow_auto_topic_creation 9 10 true
    """
    meaning = Meaning(codec)
    shown: list[str] = []
    for span in joined(spans):
        segments = SEGMENT.findall(span.path) or [span.type]
        for depth in range(_common(shown, segments), len(segments) - 1):
            yield Node(depth, escape(segments[depth]), span.start, span.start, "", "")
        shown = segments
        name = meaning.name(span.path, span.value)
        value = with_name(span_text(span, LONGEST), name, LONGEST)
        faults = tuple(escape(f"{type(fault).__name__}: {fault.reason}") for fault in span.faults)
        yield Node(len(segments) - 1, escape(segments[-1]), span.start, span.stop, escape(span.type), value, faults)


def _common(shown: list[str], segments: list[str]) -> int:
    """Return the number of leading segments that the page already shows; the last segment always gets its own row."""
    count = 0
    while count < min(len(shown), len(segments) - 1) and shown[count] == segments[count]:
        count += 1
    return count


MOST = 1 << 22  # bytes of one frame that the page shows
WIDEST = 240  # characters of a line of the list

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


def explain_page(name: str, results: Iterable[Result]) -> Iterator[str]:
    """Yield a page of many frames, piece by piece: a list, and the fields and the bytes of one frame.

    Args:
        name: the title of the page, such as the dump's name.
        results: results of a `FrameDecoder`; if it did not trace, a frame is decoded again. Frames of a capture are
            listed as `kwire decode` prints them.
    """
    summary = MessageSummary()
    blocks = (_frame(result, is_open=index == 0, summary=summary) for index, result in enumerate(results))
    yield from _page(name, blocks)


def _page(name: str, blocks: Iterable[str]) -> Iterator[str]:
    def body() -> Iterator[str]:
        yield _TOP.format(heading=text(name))
        yield from blocks
        yield "</main>\n"

    yield from document(f"{name} - kwire", asset("page.css"), asset("page.js"), body())


def _frame(result: Result, *, is_open: bool, summary: MessageSummary | None = None) -> str:
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
    return _block(name, kind, members, is_open=is_open, place=_place(result))


def _place(result: Result) -> str:
    """Return the HTML attributes that identify a frame and its request."""
    source, asked = result.frame.source, result.request_frame if isinstance(result, Response) else None
    found = {"frame": source.frame, "request": asked}
    named = {key: f"{number} {source.file or ''}" for key, number in found.items() if number is not None}
    return "".join(f' data-{key}="{text(value)}"' for key, value in named.items())


def _block(name: str, kind: str, members: dict[str, Any], *, is_open: bool, place: str = "") -> str:
    return (
        f'<details class="frame {kind}"{place}{" open" if is_open else ""}><summary>{text(name)}</summary>'
        f'<script type="application/json">{embedded(members)}</script></details>\n'
    )


def _members(data: bytes, spans: Sequence[Span], codec: Codec | None) -> dict[str, Any]:
    members: dict[str, Any] = {"bytes": base64.b64encode(data[:MOST]).decode()}
    members["nodes"] = [node for node in nodes(spans, codec) if node.start < MOST]
    members["hidden"] = [[start, span.stop] for span in spans if (start := hidden_from(span)) is not None]
    members["errors"] = [f"the first {MOST} of {len(data)} bytes are shown"] if len(data) > MOST else []
    return members


LOWEST, HIGHEST = 240, 620  # pixels
_ROW, _REST = 20, 190  # pixels of a field, and of everything around the fields


class Shown:
    """The result of `show`: a page in a notebook, one line elsewhere. `html` is the page."""

    def __init__(self, words: str, page: str, height: int = HIGHEST) -> None:
        self.words: str = words
        self.html: str = page
        self.height: int = height

    def __repr__(self) -> str:
        return f"<kwire shows {self.words}>"

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in an iframe that can only run the script of the page."""
        height = max(LOWEST, min(self.height, HIGHEST))
        return (
            f'<iframe sandbox="allow-scripts" width="100%" height="{height}" style="border: 0" '
            f'title="{text(self.words)}" srcdoc="{html.escape(self.html)}"></iframe>'
        )


def show(thing: Any, version: int | None = None, *, secrets: bool = False, catalog: Catalog | None = None) -> Shown:
    """Show bytes beside their fields in a notebook.

    Args:
        thing: bytes of complete frames; a `Request`, `Response` or `Undecodable`, or several of them; or a message.
        version: for a message, the version to encode it in.
        secrets: also show passwords, proofs and keys.
        catalog: the specs of frames given as bytes; a message has its own specs.

    Returns:
        A value that a notebook displays; its `html` is a page that can be written to a file.

    Raises:
        TypeError: the object has another type, or the version of a message is missing.
        EncodeError, UnsupportedVersion: the message cannot be encoded in this version.

    >>> import kwire
    >>> kwire.show(kwire.messages.MetadataRequest(), 4)
    <kwire shows MetadataRequest v4, 5 bytes>
    >>> kwire.show(kwire.encode_request(kwire.messages.MetadataRequest(), 4, correlation_id=1))
    <kwire shows Metadata v4 request, correlation 1, no client id, 19 bytes, frame 0 at 0>
    """
    if isinstance(thing, bytes | bytearray | memoryview):
        return _results(list(decode_frames(cut_frames(bytes(thing)), catalog, trace=True)), secrets)
    if isinstance(thing, Request | Response | Token | Undecodable):
        return _results([thing], secrets)
    if hasattr(thing, "__struct_fields__"):
        return _message(thing, version, catalog)
    if isinstance(thing, Iterable) and not isinstance(thing, str | dict):
        return _results(list(thing), secrets)
    raise TypeError(f"show takes bytes of frames, decoded frames or a message, not {type(thing).__name__}")


def _message(message: Any, version: int | None, catalog: Catalog | None) -> Shown:
    name = type(message).__name__
    if version is None:
        newest = find_spec(type(message), None, catalog=catalog).versions.last
        raise TypeError(f"a message is shown in a version: show(message, {newest})")
    its = codec(type(message), version, catalog=catalog)
    data = its.encode(message)
    spans = its.trace(data)
    return Shown(
        f"{name} v{version}, {count_text(len(data), 'byte')}", explain_html(data, spans, its), _REST + _ROW * len(spans)
    )


def _results(results: list[Result], secrets: bool) -> Shown:
    for result in results:
        if not isinstance(result, Request | Response | Token | Undecodable):
            raise TypeError(f"show takes decoded frames, not {type(result).__name__}")
    results = results if secrets else [mask(result) for result in results]
    if len(results) != 1:
        words = count_text(len(results), "frame")
        return Shown(words, "".join(explain_page(words, results)))
    return Shown(title(results[0]), result_html(results[0]))
