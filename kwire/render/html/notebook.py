"""Shows messages and frames in notebooks: bytes beside their fields."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from ...codecs.message_codec import codec
from ...protocol import Request, Response, Result, Token, Undecodable, cut_frames, decode_frames
from ...redact.masking import mask
from ...schema.catalog import Catalog
from ...schema.message_classes import find_spec
from ..frame_title import title
from ..value_text import count_text
from .document import text
from .explain_page import explain_html, explain_page, result_html

LOWEST, HIGHEST = 240, 620  # pixels
FIELD_HEIGHT, _REST = 20, 190  # pixels of a field, and of everything around the fields


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
        f"{name} v{version}, {count_text(len(data), 'byte')}",
        explain_html(data, spans, its),
        _REST + FIELD_HEIGHT * len(spans),
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
