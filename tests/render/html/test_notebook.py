"""What notebooks draw: a frame of its own, and one line where there is no notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.render.html.notebook import HIGHEST, LOWEST, Shown, show
from tests.browser import Structure, loaded
from tests.protocol.test_frame_decoder import decoded, request, response
from tests.render.html.test_explain_page import HOSTILE

M: Any = kwire.messages


def page_in(drawn: str) -> Structure:
    (frame,) = Structure(drawn).attributes("iframe")
    assert frame["sandbox"] == "allow-scripts"
    assert LOWEST <= int(frame["height"] or 0) <= HIGHEST
    return Structure(frame["srcdoc"] or "")


def test_every_kind_of_result_draws_itself_and_prints_as_one_line() -> None:
    results = decoded(request(1), response(1), bytes.fromhex("00000004 270f0001"))
    classes = []
    for result in results:
        found = page_in(result._repr_html_())
        classes.append(found.attributes("details")[0]["class"])
        assert "\n" not in repr(result)
    assert classes == ["frame request", "frame response", "frame undecodable"]


def test_frames_are_shown_from_their_bytes() -> None:
    shown = show(request(1) + response(1))
    assert repr(shown) == "<kwire shows 2 frames>"
    assert len(page_in(shown._repr_html_()).data) == 2
    assert shown.html.startswith("<!DOCTYPE html>")
    assert len(Structure(show(request(1) + b"\0\0").html).data) == 2
    assert len(Structure(show(bytearray(b"\xff" * 9)).html).data) == 1
    assert repr(show(b"")) == "<kwire shows 0 frames>"


def test_results_and_messages_are_shown() -> None:
    assert repr(show(decoded(request(1), request(2)))) == "<kwire shows 2 frames>"
    assert repr(show(iter(decoded(request(1))))).startswith("<kwire shows Metadata v1 request, correlation 1")
    shown = show(M.MetadataRequest(topics=None), 4)
    assert shown.height == 190 + 2 * 20
    assert Structure(shown.html).data[0]["nodes"][0][1] == "topics"


@pytest.mark.parametrize("thing", ["text", 7, {"a": 1}, [1], None])
def test_other_things_are_refused(thing: object) -> None:
    with pytest.raises(TypeError, match="show takes"):
        show(thing)


def test_a_message_needs_a_version() -> None:
    with pytest.raises(TypeError, match=r"show\(message, 13\)"):
        show(M.MetadataRequest())
    with pytest.raises(kwire.EncodeError):
        show(M.MetadataRequest(include_topic_authorized_operations=True), 4)


def test_hostile_text_stays_inside() -> None:
    (result,) = decoded(request(1, client_id=HOSTILE[0]))
    drawn = result._repr_html_()
    assert [tag for tag, _ in Structure(drawn).tags] == ["iframe"]
    assert Shown('"><script>', "").__repr__() == '<kwire shows "><script>>'
    assert "<script>" not in Shown('"><script>', "<script>")._repr_html_()


def test_hostile_text_is_not_run_in_a_notebook(chromium: str, tmp_path: Path) -> None:
    (result,) = decoded(request(1, client_id=HOSTILE[0]))
    dom = loaded(f"<!DOCTYPE html><title>notebook</title>{result._repr_html_()}", tmp_path)
    assert "<title>notebook</title>" in dom
    assert "owned</title>" not in dom


def test_secrets_are_shown_only_if_asked_for() -> None:
    frame = kwire.encode_request(kwire.messages.SaslAuthenticateRequest(auth_bytes=b"\0alice\0wonder"), 1)
    assert "[hidden]" in kwire.show(frame).html
    assert "616c69636500776f6e646572" in kwire.show(frame, secrets=True).html
    assert "616c69636500776f6e646572" not in kwire.show(frame).html
