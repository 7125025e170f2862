"""No command prints a secret: not as text, not in hex, not in base64. Checked against those that were on the wire."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.capture.frame_extractor import FrameExtractor
from kwire.capture.open_capture import open_packets
from kwire.cli.main import main
from kwire.protocol import SaslMessage
from kwire.redact.masking import mask
from kwire.render.frame_tree import tree
from kwire.render.json_objects.frame_json import json_line
from tests.conftest import SHARED, each_of, spread

M: Any = kwire.messages
CAPTURES = SHARED / "captures"
RUNS = sorted({path.name.split(".clients")[0] for path in CAPTURES.glob("*sasl*.clients.pcap")})
COMMANDS: dict[str, list[str]] = {
    "lines": ["decode"],
    "trees": ["decode", "-v", "--no-pager"],
    "json": ["decode", "--json"],
    "jsonl": ["decode", "--jsonl"],
    "strict": ["decode", "--strict", "-v", "--no-pager"],
    "guess": ["decode", "--guess"],
    "explain": ["explain"],
    "html": ["explain", "--html"],
    "report": ["report"],
    "check": ["check"],
    "check json": ["check", "--json"],
    "stats": ["stats", "--by", "client,api,software", "--errors"],
    "cluster": ["cluster"],
}
PASSWORD = b"correct horse"
SALT = b"pepper and more salt"


def forms(secret: bytes) -> Iterator[str]:
    """How a secret could be written."""
    yield secret.decode("latin-1")
    yield json.dumps(secret.decode("latin-1"))[1:-1]
    for separator in ("", " ", "\\x"):
        text = separator.join(f"{byte:02x}" for byte in secret)
        yield from (text, text.upper())
    for lead in range(3):  # inside longer base64 it may begin at any of three places
        text = base64.b64encode(bytes(lead) + secret).decode().rstrip("=")
        middle = text[(lead * 8 + 5) // 6 : len(text) - 1]
        if len(middle) >= 6:
            yield middle


def leaks(text: str, secrets: set[bytes]) -> list[str]:
    flat = text.replace("\n", "")
    rows = "".join(re.findall(r"^ *[0-9a-f]{8}  ((?:[0-9a-f]{2} ?)+)", text, re.MULTILINE)).replace(" ", "")
    return [form for secret in secrets for form in forms(secret) if any(form in one for one in (text, flat, rows))]


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main([*arguments])
    captured = capsys.readouterr()
    return captured.out + captured.err


def secrets_of(result: Any) -> Iterator[bytes]:
    """The secrets of a result, found without the rules that hide them."""
    content = result.content if isinstance(result, kwire.protocol.Token) else getattr(result, "inside", None)
    if isinstance(content, SaslMessage):
        parts = ("password", "salt", "proof", "signature", "token")
        for value in (content.fields.get(name) for name in parts):
            if value:
                yield value if isinstance(value, bytes) else str(value).encode()
    message = getattr(result, "message", None)
    for owner in (message, *getattr(message, "tokens", ()), *getattr(message, "upsertions", ())):
        yield from (getattr(owner, name) for name in ("hmac", "salt", "salted_password") if hasattr(owner, name))


@pytest.mark.ci
@each_of("run", RUNS)
def test_no_command_prints_what_was_secret_in_a_run(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(map(str, CAPTURES.glob(f"{run}.*.pcap")))
    secrets = {word.encode() for word in re.findall(r'user_\w+="(\w+)"', (CAPTURES / f"{run}.md").read_text("utf-8"))}
    assert secrets
    for file in files:
        for result in kwire.decode_frames(kwire.read_dump(file)):
            secrets.update(value for value in secrets_of(result) if len(value) > 5)
    assert len(secrets) > 10
    for name, command in COMMANDS.items():
        text = output_of(capsys, *command, *files)
        assert leaks(text, secrets) == [], name
        assert text
    assert leaks(output_of(capsys, "diff", files[0], files[-1]), secrets) == []
    shown = output_of(capsys, "decode", "-v", "--no-pager", "--show-secrets", *files)
    assert leaks(shown, secrets)  # so that it is known that the search finds them


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def message(name: str, version: int, members: dict[str, Any]) -> Any:
    return kwire.codec(name, version).from_json(members)


@pytest.mark.parametrize("seed", spread(range(4), 1))
@each_of("run", RUNS)
def test_damaged_captures_do_not_give_away_what_they_held(run: str, seed: int) -> None:
    chance = random.Random(seed)
    file = CAPTURES / f"{run}.clients.pcap"
    secrets = {
        one for result in kwire.decode_frames(kwire.read_dump(file)) for one in secrets_of(result) if len(one) > 5
    }
    with open_packets(file) as whole:
        packets = [packet for packet in whole if chance.random() > 0.1][chance.randrange(100) :]
    for result in kwire.decode_frames(FrameExtractor().frames(packets)):
        safe = mask(result)
        assert leaks(json_line(safe) + "\n".join(tree(safe)), secrets) == []


def dump() -> list[bytes]:
    """Frames that hold secrets in every place that is known."""
    upsertion = {"name": "dave", "mechanism": 1, "iterations": 4096, "salt": encoded(SALT)}
    upsertion["saltedPassword"] = encoded(PASSWORD)
    scram = message("AlterUserScramCredentialsRequest", 0, {"deletions": [], "upsertions": [upsertion]})
    envelope = kwire.encode_request(scram, 0, correlation_id=5, client_id="me")
    configs = [
        {"name": "listener.name.x.ssl.keystore.password", "value": PASSWORD.decode()},
        {"name": "retention.ms", "value": "86400000"},
    ]
    resources = [{"resourceType": 4, "resourceName": "1", "configs": configs}]
    altered = message("AlterConfigsRequest", 1, {"resources": resources, "validateOnly": False})
    asked: list[tuple[Any, int]] = [
        (M.SaslHandshakeRequest(mechanism="PLAIN"), 1),
        (M.SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + PASSWORD), 1),
        (M.SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + PASSWORD), 2),
        (M.RenewDelegationTokenRequest(hmac=PASSWORD), 2),
        (M.EnvelopeRequest(request_data=envelope[4:], client_host_address=bytes(4)), 0),
        (scram, 0),
        (altered, 1),
    ]
    frames = [
        kwire.encode_request(message, version, correlation_id=number, client_id="me")
        for number, (message, version) in enumerate(asked)
    ]
    bare = kwire.encode_request(M.SaslHandshakeRequest(mechanism="PLAIN"), 0, correlation_id=50)
    token = b"\0alice\0" + PASSWORD
    return [*frames, bare, len(token).to_bytes(4, "big") + token]


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_prints_a_secret(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dump.bin"
    path.write_bytes(b"".join(dump()))
    text = output_of(capsys, *COMMANDS[name], str(path))
    assert leaks(text, {PASSWORD, SALT}) == []
    assert name != "trees" or ("86400000" in text and '"alice"' in text and "[hidden] (13 bytes)" in text)


@pytest.mark.parametrize("name", spread(["trees", "jsonl", "strict", "explain", "html", "check"], 3))
@pytest.mark.parametrize("index", range(9))
def test_damaged_frames_do_not_give_away_what_they_held(
    name: str, index: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = dump()[index]
    if index == 8:
        frame = dump()[7] + frame
    words = (
        range(frame.find(b"listener"), frame.find(b"correct")) if index == 6 else ()
    )  # it says that this is a secret
    flipped = [
        frame[:at] + bytes([frame[at] ^ bit]) + frame[at + 1 :] for at in range(6, len(frame)) for bit in (1, 64)
    ]
    flipped = [damaged for at, damaged in enumerate(flipped, 12) if at // 2 not in words]
    files = []
    for number, damaged in enumerate([frame[1:], *(frame[:-stop] for stop in range(1, 6)), *flipped]):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(damaged)
        files.append(str(path))
    text = output_of(capsys, *COMMANDS[name], *files)
    # Half of a secret gives it away, too.
    assert leaks(text, {PASSWORD[:7], SALT[:8], SALT[-8:]}) == []


def test_json_without_its_secrets_is_not_encoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, lines = tmp_path / "dump.bin", tmp_path / "dump.jsonl"
    path.write_bytes(b"".join(dump()))
    assert main(["decode", "--jsonl", str(path)]) == 0
    lines.write_text(capsys.readouterr().out)
    assert '"authBytes":{"_hidden":20}' in lines.read_text()
    assert main(["encode", str(lines), "-o", str(tmp_path / "rest.bin")]) == 1
    complaint = capsys.readouterr().err
    assert "authBytes: the value was hidden when this JSON was written" in complaint
    assert "--show-secrets" in complaint
    assert main(["decode", "--jsonl", "--show-secrets", str(path)]) == 0
    lines.write_text(capsys.readouterr().out)
    out = tmp_path / "again.bin"
    assert main(["encode", str(lines), "-o", str(out)]) == 0
    assert out.read_bytes() == path.read_bytes()


def test_two_secrets_differ_without_being_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "one.bin", tmp_path / "other.bin"
    for path, password in ((one, PASSWORD), (other, b"correct hound")):
        message = M.SaslAuthenticateRequest(auth_bytes=b"\0alice\0" + password)
        path.write_bytes(kwire.encode_request(message, 1, client_id="me"))
    text = output_of(capsys, "diff", str(one), str(other))
    assert "~ auth_bytes: [hidden] (20 bytes) -> [hidden] (20 bytes)" in text
    assert "1 frame: 0 the same, 1 not" in text
    assert leaks(text, {PASSWORD, b"correct hound"}) == []


def test_a_wrong_secret_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "body.json"
    path.write_text('{"authBytes": "correct horse, and no base64"}')
    text = output_of(capsys, "encode", "--as", "SaslAuthenticateRequest:1", str(path))
    assert "authBytes: base64 is needed" in text
    assert leaks(text, {PASSWORD}) == []


def test_a_fixture_is_written_only_when_secrets_may_be_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dump.bin"
    path.write_bytes(dump()[1])
    arguments = ["explain", "--fixture", "--writer", "Apache Kafka", str(path)]
    assert main(arguments) == 2
    assert "--show-secrets" in capsys.readouterr().err
    assert main([*arguments, "--show-secrets"]) == 0
    assert "63 6f 72 72" in capsys.readouterr().out
