"""Functions of upper layers that lower layers call. Importing them by name keeps imports in the order of the layers."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast


def render_html(result: object) -> str:
    """Return a result of decoding as HTML, for notebooks."""
    notebook = import_module("kwire.render.html.notebook")
    return cast(str, notebook.show(result)._repr_html_())


def message_classes(catalog: object) -> Any:
    """Return the message classes of a catalog, as attributes."""
    return import_module("kwire.schema.message_classes").Messages(catalog)
