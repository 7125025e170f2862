"""One self-contained HTML file: no network, and no script but the one that it was given.

A policy in its head names style and script by their hashes, so that a browser refuses all others, should data ever
slip through as markup. Knows nothing of what is on the page.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .style import escape


def document(title: str, style: str, script: str, body: Iterable[str]) -> Iterator[str]:
    """Yield an HTML document, piece by piece.

    Args:
        title: plain text.
        style: CSS, ours.
        script: JavaScript, ours, which runs behind the body; empty for none at all.
        body: HTML.
    """
    allowed = f"'{_hash(script)}'" if script else "'none'"
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src {allowed}; base-uri 'none'"
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
    """Write a value as text inside HTML, or inside an attribute in quotes: no markup, nothing invisible.

    >>> text("<b>" + chr(0x202E))
    '&lt;b&gt;\\\\u202e'
    """
    return html.escape(escape(str(value)))


def embedded(value: Any) -> str:
    """Write plain values as JSON that may stand inside a script element of a type that does not run.

    >>> embedded("</script><!--")
    '"\\\\u003c/script>\\\\u003c!--"'
    """
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


@cache
def asset(name: str) -> str:
    """Return a style or a script that lies beside this module."""
    return Path(__file__).with_name(name).read_text("utf-8")


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
