"""Tables without secrets: the option maskSecrets, for whole and damaged frames, in each form of `message`."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire import arrow
from tests.arrow.golden import golden_columns
from tests.cli.test_secrets import PASSWORD, SALT, dump, leaks, output_of
from tests.conftest import spread
from tests.redact.test_metadata_log_secrets import CREDENTIAL, HARMLESS, M, batch

HALVES = {PASSWORD[:7], SALT[:8], SALT[-8:]}  # half of a secret gives it away, too
STRUCTS = "SaslAuthenticate", "AlterUserScramCredentials", "AlterConfigs", "RenewDelegationToken", "Envelope"


def shown(value: Any) -> str:
    """What a reader of a table can see, as text."""
    return json.dumps(value, default=lambda other: other.hex() if isinstance(other, bytes) else str(other))


def rows_of(paths: Sequence[Path], **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = arrow.read(paths, mask_secrets=True, **options).read_all().to_pylist()
    return rows


def flat(rows: list[dict[str, Any]]) -> str:
    """All cells as text; bytes also as latin-1, so that searches find what is in them."""
    cells = [cell for row in rows for cell in row.values()]
    return shown(rows) + "".join(cell.decode("latin-1") for cell in cells if isinstance(cell, bytes))


def written(folder: Path) -> Path:
    path = folder / "dump.bin"
    path.write_bytes(b"".join(dump()))
    return path


def test_json_is_the_json_of_decode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path)
    lines = output_of(capsys, "decode", "--jsonl", str(path)).splitlines()
    payloads = [json.loads(line).get("payload") for line in lines if line.startswith("{")]
    messages = [None if row["message"] is None else json.loads(row["message"]) for row in rows_of([path])]
    assert messages == payloads
    assert payloads[1] == {"authBytes": {"_hidden": 20}}
    assert payloads[6]["resources"][0]["configs"][1]["value"] == "86400000"


def test_tables_show_secrets_unless_they_are_masked(tmp_path: Path) -> None:
    path = written(tmp_path)
    for body in ("json", "raw"):
        assert leaks(flat(arrow.read(path, body=body).read_all().to_pylist()), {PASSWORD})
        assert leaks(flat(rows_of([path], body=body)), {PASSWORD, SALT}) == []


def test_raw_frames_keep_their_size_and_all_other_bytes(tmp_path: Path) -> None:
    path, frames = written(tmp_path), dump()
    masked = [row["message"] for row in rows_of([path], body="raw")]
    assert [len(data) for data in masked] == [len(frame) for frame in frames]
    assert masked[0] == frames[0]
    assert masked[1] == frames[1][:-20] + bytes(20)
    assert masked[6] == frames[6].replace(PASSWORD, bytes(len(PASSWORD)))
    assert masked[8] == frames[8][:4] + bytes(len(frames[8]) - 4)  # a token without a header


@pytest.mark.parametrize("name", STRUCTS)
def test_structs_have_texts_in_place_of_secrets(name: str, tmp_path: Path) -> None:
    rows = rows_of([written(tmp_path)], body="struct", apis=f"{name}Request")
    assert leaks(flat(rows), {PASSWORD, SALT}) == []
    assert f"[hidden] ({len(PASSWORD)} bytes)" in shown(rows) or b"[hidden] (".hex() in shown(rows)
    assert all(row["_error"] is None for row in rows)


@pytest.mark.parametrize("body", ["json", "raw", "none", *spread(STRUCTS, 1)])
@pytest.mark.parametrize("index", range(9))
def test_damaged_frames_do_not_give_away_what_they_held(body: str, index: int, tmp_path: Path) -> None:
    frame = dump()[index]
    if index == 8:
        frame = dump()[7] + frame
    named = range(frame.find(b"listener"), frame.find(b"correct")) if index == 6 else ()  # says that it is a secret
    paths = []
    for at in range(6, len(frame)):
        for bit in (1, 64) if at not in named else ():
            paths.append(tmp_path / f"{at}-{bit}.bin")
            paths[-1].write_bytes(frame[:at] + bytes([frame[at] ^ bit]) + frame[at + 1 :])
    for stop in range(1, 6):
        paths.append(tmp_path / f"cut-{stop}.bin")
        paths[-1].write_bytes(frame[:-stop])
    paths.append(tmp_path / "late.bin")
    paths[-1].write_bytes(frame[1:])
    options = {"body": body} if body in ("json", "raw", "none") else {"body": "struct", "apis": f"{body}Request"}
    assert leaks(flat(rows_of(paths, **options)), HALVES) == []


def test_what_has_no_secret_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "golden.bin"
    frames = []
    for name in ("MetadataRequest", "MetadataResponse", "FetchRequest"):
        for body, version in golden_columns().get(name, ())[:20]:
            message = kwire.codec(name, version).decode(body)
            encode: Any = kwire.encode_request if name.endswith("Request") else None
            frames += [] if encode is None else [encode(message, version, correlation_id=7, client_id="me")]
    path.write_bytes(b"".join(frames))
    assert len(frames) > 10
    for form in ("json", "raw"):
        assert rows_of([path], body=form) == arrow.read(path, body=form).read_all().to_pylist()


@pytest.mark.parametrize("body", ["json", "raw", "struct"])
def test_fetched_credentials_are_masked(body: str, tmp_path: Path) -> None:
    path = tmp_path / "fetch.bin"
    fetched = {"responses": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [partition_of(batch(CREDENTIAL))]}]}
    answer = kwire.codec("FetchResponse", 13).from_json(
        {"throttleTimeMs": 0, "errorCode": 0, "sessionId": 0, **fetched}
    )
    request = kwire.encode_request(M.FetchRequest(), 13, correlation_id=1, client_id="me")
    path.write_bytes(request + kwire.encode_response(answer, 13, correlation_id=1))
    options = {"body": body, "apis": "FetchResponse"} if body == "struct" else {"body": body}
    assert b"stored" in flat(arrow.read(path, **options).read_all().to_pylist()).encode() or body != "raw"
    text = flat(rows_of([path], **options))
    assert leaks(text, {b"stored"}) == []
    if body != "raw":
        assert str(len(batch(CREDENTIAL))) in text


def partition_of(records: bytes) -> dict[str, Any]:
    numbers = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 1, "lastStableOffset": 1, "logStartOffset": 0}
    encoded = base64.b64encode(records).decode()
    return {**numbers, "abortedTransactions": None, "preferredReadReplica": -1, "records": encoded}


def test_batches_of_the_metadata_log_are_masked(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    plain = kwire.build_batch([kwire.Record(offset=0, value=PASSWORD)])  # contents of records are not masked
    for data, is_hidden in ((batch(CREDENTIAL), True), (batch(HARMLESS), False), (plain, False)):
        path.write_bytes(data)
        (row,) = rows_of([path], body="raw")
        assert row["message"] == (bytes(len(data)) if is_hidden else data)
