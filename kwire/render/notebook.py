"""Pages inside a notebook, each in a frame of its own: nothing of a message touches the notebook, nor the other way."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from ..codecs import codec
from ..frames import Request, Response, Result, Token, Undecodable, cut_frames, decode_frames
from ..messages.classes import find_spec
from ..redaction import seal
from ..spec.catalog import Catalog
from .page import explain_html, explain_page, result_html
from .tree import title
from .values import count_text

LOWEST, HIGHEST = 240, 620  # pixels
_ROW, _REST = 20, 190  # pixels of a field, and of all that is around the fields


class Shown:
    """Something to look at: a page in a notebook, one line anywhere else. `html` is the page by itself."""

    def __init__(self, words: str, page: str, height: int = HIGHEST) -> None:
        self.words: str = words
        self.html: str = page
        self.height: int = height

    def __repr__(self) -> str:
        return f"<kwire shows {self.words}>"

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in a frame that can run nothing but the page's own script."""
        height = max(LOWEST, min(self.height, HIGHEST))
        return (
            f'<iframe sandbox="allow-scripts" width="100%" height="{height}" style="border: 0" '
            f'title="{html.escape(self.words)}" srcdoc="{html.escape(self.html)}"></iframe>'
        )


def show(thing: Any, version: int | None = None, *, secrets: bool = False, catalog: Catalog | None = None) -> Shown:
    """Show bytes and their fields beside each other, in a notebook.

    Args:
        thing: bytes of whole frames; a `Request`, `Response` or `Undecodable`, or several of them; or a message.
        version: for a message, the version to encode it in.
        secrets: show passwords, proofs and keys of frames too.
        catalog: the specs of frames given as bytes; a message knows its own.

    Returns:
        A value that a notebook draws; its `html` is a page that can be written to a file.

    Raises:
        TypeError: the thing is none of these, or a message comes without version.
        EncodeError, UnsupportedVersion: the message cannot be encoded so.

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
    results = results if secrets else [seal(result) for result in results]
    if len(results) != 1:
        words = count_text(len(results), "frame")
        return Shown(words, "".join(explain_page(words, results)))
    return Shown(title(results[0]), result_html(results[0]))
