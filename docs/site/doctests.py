"""Fences the examples of docstrings, so that Markdown shows them as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

# From a first `>>>`, indented or not, to a blank line that no further `>>>` follows.
_EXAMPLES = re.compile(r"^( *)>>> .*(?:\n.*\S.*)*(?:\n\s*\n\1>>> .*(?:\n.*\S.*)*)*", re.MULTILINE)


def fenced(text: str) -> str:
    """Return a docstring whose doctests are code blocks."""
    return _EXAMPLES.sub(lambda found: f"{found[1]}```python\n{found[0]}\n{found[1]}```", text)


class FencedDoctests(griffe.Extension):
    """Applies `fenced` to every docstring."""

    def on_object(self, *, obj: Any, **kwargs: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
