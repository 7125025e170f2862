"""Functions of upper layers that lower layers call: the rendering of results in notebooks, and message classes.

`kwire/__init__.py` registers them before any module of kwire is imported, so that modules import only from lower
layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

render_html: Callable[[Any], str]
message_classes: Callable[[Any], Any]


def register(*, render: Callable[[Any], str], messages: Callable[[Any], Any]) -> None:
    """Set the functions.

    Args:
        render: returns a result of decoding as HTML, for notebooks.
        messages: returns the message classes of a catalog, as attributes.
    """
    global render_html, message_classes
    render_html, message_classes = render, messages
