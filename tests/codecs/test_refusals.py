"""A fast path refuses with a few exceptions, which the reference path explains; callers see any other exception."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

import kwire
from kwire import messages as M  # noqa: N812
from kwire.codecs import message_codec
from kwire.codecs.fast_path import REFUSALS, REFUSALS_OF
from kwire.codecs.message_codec import Codec
from kwire.schema.catalog import catalog_for
from tests.conftest import ROOT

BODY = bytes.fromhex("00000003")
MESSAGE = M.ControlledShutdownRequest(broker_id=3)


class Failing:
    """A fast path with a bug."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def fail(self, *_: Any) -> Any:
        raise self.error

    decode = decode_from = encode = json = fail


def codec_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Codec:
    monkeypatch.setattr(message_codec, "choose_fast_path", lambda *_: Failing(error))
    return Codec(catalog_for().spec("ControlledShutdownRequest"), 1)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("a bug"), KeyError("a bug"), AssertionError(), OSError()]
)
def test_a_bug_of_the_fast_path_is_seen_by_the_caller(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = codec_with(error, monkeypatch)
    reader = kwire.codecs.wire.Reader(BODY)
    for call in (
        lambda: codec.decode(BODY),
        lambda: codec.decode(BODY, salvage=True),
        lambda: codec.encode(MESSAGE),
        lambda: codec.json_text(BODY),
        lambda: codec.read(reader),
    ):
        with pytest.raises(type(error)) as caught:
            call()
        assert caught.value is error


@pytest.mark.parametrize("kind", REFUSALS, ids=lambda kind: kind.__name__)
def test_what_it_refuses_is_left_to_the_reference_path(kind: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    codec = codec_with(kind(), monkeypatch)
    assert codec.decode(BODY) == MESSAGE
    assert codec.encode(MESSAGE) == BODY
    assert codec.json_text(BODY) is None
    assert codec.read(kwire.codecs.wire.Reader(BODY)) == MESSAGE


def test_no_engine_refuses_with_what_every_failure_is() -> None:
    for refusals in REFUSALS_OF.values():
        for failure in (MemoryError, RuntimeError, RecursionError, KeyError, AssertionError, OSError, NameError):
            assert not issubclass(failure, refusals)


@pytest.mark.parametrize("engine", ["native", "python", "reference"])
def test_a_message_that_no_engine_accepts_is_explained(engine: str) -> None:
    """Text that is not UTF-8, a lone surrogate, a number out of range, a wrong class: each engine refuses its way."""
    if engine == "native" and not kwire.codecs.native.AVAILABLE:
        pytest.skip("the native engine was not built")
    code = """
import kwire
M = kwire.messages
codec = kwire.codec("HeartbeatRequest", 3)
good = codec.encode(M.HeartbeatRequest(group_id="abc", generation_id=1, member_id="m"))
for data in (good[:3], good + b"x", good.replace(b"ab", b"\\xff\\xff"), b""):
    try:
        codec.decode(data)
    except kwire.DecodeError as error:
        print(type(error).__name__)
for values in ({"group_id": "\\ud800"}, {"generation_id": 2**70}, {"generation_id": None}, {"group_id": 7}):
    try:
        codec.encode(M.HeartbeatRequest(**values))
    except kwire.EncodeError as error:
        print(type(error).__name__, error.path)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KWIRE_ENGINE": engine},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.stderr == ""
    assert done.stdout.split("\n") == [
        *("BadLength", "TrailingBytes", "BadText", "Truncated"),
        *("WrongType group_id", "OutOfRange generation_id", "WrongType generation_id", "WrongType group_id", ""),
    ]
