"""HTML documents that load nothing from the network: escaped text, embedded JSON, styles and scripts with digests."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ..escaping import escape


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
