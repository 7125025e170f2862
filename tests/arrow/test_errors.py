"""Errors say what, where and what to try, in other processes too."""

from __future__ import annotations

import pickle

import pytest

from kwire.arrow.errors import BadOption, MalformedFrame
from kwire.errors import KwireError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (BadOption("mode", "x", "wrong", "right"), "option mode='x': wrong; right"),
        (BadOption("path", None, "there is none"), "option path: there is none"),
        (MalformedFrame("file", 7, None, None, "why"), "[KWIRE_MALFORMED_FRAME] path=file, offset=7: why; mode="),
        (
            MalformedFrame("file", 7, "Fetch", 3, "why"),
            "[KWIRE_MALFORMED_FRAME] path=file, offset=7, api=Fetch, ",
        ),
    ],
)
def test_errors_keep_their_words(error: KwireError, text: str) -> None:
    assert str(error).startswith(text)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
