"""Errors say what, where and what to try, in other processes too."""

from __future__ import annotations

import pickle

import pytest

from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.read_options import BadOption, Options
from kwire.arrow.rows.frame_rows import Row
from kwire.arrow.rows.row_faults import MalformedFrame
from kwire.errors import DumpError, KwireError


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


def test_no_password_of_a_uri_is_shown_or_stored() -> None:
    uri = "s3://key:sesame@taps/day-1/a.pcap"
    builder = BatchReader(Options()).builder
    builder.begin(uri)
    builder.rows.append(Row(0, b""))
    (batch,) = builder.rest()
    assert batch["path"].to_pylist() == ["s3://taps/day-1/a.pcap"]
    errors = BadOption("path", uri, f"{uri} is not there"), DumpError("it is cut", file=uri)
    assert not any("sesame" in str(error) for error in errors)
