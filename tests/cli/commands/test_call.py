"""`kwire call`: one request, one answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from kwire.protocol import Frame
from kwire.protocol.frames.frame_size import get_int16, get_int32
from tests.broker.server.serving import serving
from tests.cli.test_commands import out

M = kwire.messages
SPOKEN = {18: (0, 3), 10: (0, 2), 11: (0, 1), 3: (20, 30)}


def broker(frame: Frame) -> bytes:
    """Speak ApiVersions, FindCoordinator up to version 2, and JoinGroup."""
    (asked,) = kwire.decode_frames([frame])
    assert isinstance(asked, kwire.Request)
    correlation = get_int32(frame.data, 8)
    if asked.api_name == "ApiVersions":
        keys = [
            M.ApiVersionsResponse.ApiVersion(api_key=k, min_version=a, max_version=b) for k, (a, b) in SPOKEN.items()
        ]
        return kwire.encode_response(M.ApiVersionsResponse(api_keys=keys), 3, correlation_id=correlation)
    if asked.api_name == "JoinGroup":
        return kwire.encode_response(M.JoinGroupResponse(), 1, correlation_id=correlation)
    assert isinstance(asked.message, M.FindCoordinatorRequest)
    error = 15 if asked.message.key == "none" else 0
    answer = M.FindCoordinatorResponse(error_code=error, node_id=get_int16(frame.data, 6), host="b1", port=9)
    return kwire.encode_response(answer, 2, correlation_id=correlation)


def test_the_newest_version_that_both_know(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(broker) as where:
        lines = out(capsys, "call", where, "FindCoordinator", "key=g").splitlines()
    assert lines == [
        "FindCoordinator v2 response, correlation 2, 28 bytes",
        "  throttle_time_ms: 0",
        "  error_code: 0 NONE",
        '  error_message: ""',
        "  node_id: 2",
        '  host: "b1"',
        "  port: 9",
    ]


def test_json_and_a_body_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = tmp_path / "body.json"
    body.write_text('{"key": "g"}')
    with serving(broker) as where:
        for form in ("--json", "--jsonl"):
            answer = json.loads(out(capsys, "call", where, "FindCoordinatorRequest:2", "--body", str(body), form))
            assert (answer["header"]["correlationId"], answer["payload"]["host"]) == (1, "b1")


def test_an_error_code_is_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(broker) as where:
        assert "15 COORDINATOR_NOT_AVAILABLE" in out(capsys, "call", where, "FindCoordinator", "key=none", code=1)


def test_what_changes_something_needs_yes(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(broker) as where:
        assert main(["call", where, "JoinGroup:1", "groupId=g"]) == 2
        assert f"JoinGroup may change something on {where}: use --yes to allow this" in capsys.readouterr().err
        assert "generation_id: -1" in out(capsys, "call", where, "JoinGroup:1", "groupId=g", "--yes")


def test_nothing_is_sent_offline(capsys: pytest.CaptureFixture[str]) -> None:
    data = bytes.fromhex(out(capsys, "call", ":1", "JoinGroup:1", "groupId=g", "--offline", "--client-id", "me"))
    expected = kwire.encode_request(M.JoinGroupRequest(group_id="g"), 1, correlation_id=1, client_id="me")
    assert data == expected


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["Metdata"], "there is no api 'Metdata'; did you mean Metadata?"),
        (["Metadata:x"], "Metadata:x: write NAME or NAME:VERSION, such as Metadata:12"),
        (["Metadata:99"], "MetadataRequest has no version 99; versions: 0-13"),
        (["Metadata"], "supports no version of Metadata that kwire knows (0-13)"),
        (["Fetch"], "supports no version of Fetch that kwire knows (0-18)"),
    ],
)
def test_what_cannot_be_asked(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(broker) as where:
        assert main(["call", where, *arguments]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[]", "{", "[" * 100_000])
def test_a_body_that_is_none(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = tmp_path / "body.json"
    body.write_text(text)
    assert main(["call", ":1", "FindCoordinator:1", "--offline", "--body", str(body)]) == 2
    assert "kwire: error: " in capsys.readouterr().err


def test_a_field_of_other_versions_is_reported_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "--offline", ":9092", "FindCoordinator:6", "key=g"]) == 2
    assert capsys.readouterr().err == (
        "kwire: error: key=g: FindCoordinatorRequest v6 has no field key; versions 0-3 have it\n"
    )
