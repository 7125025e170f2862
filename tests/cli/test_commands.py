"""Each command does its work."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from tests.capture.request_logs.test_request_log import ANSWERED, ASKED, KROXYLICIOUS, LOG4J
from tests.cli.test_main import DUMP, ran
from tests.conftest import ROOT
from tests.protocol.test_frame_decoder import request, response

FIXTURE = str(ROOT / "fixtures/kafka/LeaderAndIsrRequest/v7.hex")


def out(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(arguments) == code
    return capsys.readouterr().out


def test_decode_jsonl_and_encode_give_the_dump_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("--jsonl", "--json"):
        lines = tmp_path / "frames.json"
        lines.write_text(out(capsys, "decode", DUMP, form))
        main(["encode", str(lines), "-o", str(tmp_path / "again.bin")])
        assert (tmp_path / "again.bin").read_bytes() == Path(DUMP).read_bytes()


def test_jsonl_is_one_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = out(capsys, "decode", DUMP, "--jsonl").splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 6
    assert first["source"] == {"file": DUMP, "frame": 0, "offset": 0}
    assert first["header"] == {
        "apiKey": 4,
        "apiName": "LeaderAndIsr",
        "apiVersion": 7,
        "correlationId": 22,
        "clientId": "1",
    }


def test_hex_text_is_read_as_a_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = subprocess.run([sys.executable, "-m", "hexdump", DUMP], capture_output=True, check=True).stdout
    (tmp_path / "dump.txt").write_bytes(text)
    assert len(out(capsys, "decode", str(tmp_path / "dump.txt"), "--jsonl").splitlines()) == 6


def test_explain_accounts_for_every_byte_and_decode_reads_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = out(capsys, "explain", DUMP)
    assert max(map(len, text.splitlines())) <= 90
    (tmp_path / "x.txt").write_text(text)
    seen = out(capsys, "decode", str(tmp_path / "x.txt"), "--jsonl")
    assert [json.loads(line)["payload"] for line in seen.splitlines()] == [
        json.loads(line)["payload"] for line in out(capsys, "decode", DUMP, "--jsonl").splitlines()
    ]


def test_a_response_alone_needs_to_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "reply.bin"
    path.write_bytes(response(70000))
    out(capsys, "decode", str(path), code=1)
    for name in ("Metadata:1", "MetadataResponse:1", "MetadataResponse:v1"):
        (line,) = out(capsys, "decode", str(path), "--as", name, "--jsonl").splitlines()
        assert json.loads(line)["payload"]["controllerId"] == 3


def test_a_bare_body_is_read_as_what_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "body.bin"
    path.write_bytes(bytes.fromhex("ffffffff"))
    (line,) = out(capsys, "decode", str(path), "--body", "--as", "MetadataRequest:1", "--jsonl").splitlines()
    assert json.loads(line)["header"] == {"apiKey": 3, "apiName": "Metadata", "apiVersion": 1}
    assert main(["decode", str(path), "--body", "--as", "Metadata:1"]) == 2


def test_fixtures_and_profiles_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert out(capsys, "decode", FIXTURE).startswith("LeaderAndIsr v7 request")
    kip = ROOT / "fixtures/by-hand/KIP-36/TopicMetadataResponse.v1.two-brokers-one-rack.hex"
    text = out(capsys, "decode", str(kip))
    assert text.startswith("TopicMetadata v1 response, correlation 1000")
    assert '      rack: "us-east-1c"\n' in text


def test_a_profile_is_chosen_by_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "frame.bin"
    path.write_bytes(bytes.fromhex("0000001a 0044 0000 00000005 0002 6d65 00 00000003 0002 00 01 0000ea60 00"))
    text = out(capsys, "decode", str(path), "--profile", "KIP-879")
    assert text.startswith("CreateReplicaAssignment v0 request")
    assert "  timeout_ms: 60000\n" in text


def test_strict_refuses_what_salvage_notes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = request(1)[4:] + b"!"
    path = tmp_path / "tail.bin"
    path.write_bytes(len(body).to_bytes(4, "big") + body)
    assert "! TrailingBytes" in out(capsys, "decode", str(path))
    assert "undecodable" in out(capsys, "decode", str(path), "--strict", code=1)


def test_encode_makes_a_body_of_a_payload() -> None:
    done = ran("encode", "--as", "MetadataRequest:4", "--hex", data=b'{"topics": null, "allowAutoTopicCreation": true}')
    assert done.stdout == b"ff ff ff ff 01\n"
    done = ran("encode", "--as", "MetadataRequest:4", data=b'{"topics": null, "allowAutoTopicCreation": 1}')
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"MetadataRequest v4: allowAutoTopicCreation: true or false is needed, not 1" in done.stderr


def test_explain_writes_and_rewrites_fixtures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "one.bin"
    path.write_bytes(request(1))
    text = out(capsys, "explain", str(path), "--fixture", "--writer", "Apache Kafka 3.9.2")
    fixture = tmp_path / "one.hex"
    fixture.write_text(text.replace("topics = null", "topics = wrong"))
    assert out(capsys, "explain", str(fixture), "--fixture") == text
    assert out(capsys, "explain", "--fixture", "--in-place", str(fixture)) == ""
    assert fixture.read_text() == text


def test_spec_check_names_every_error_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "Bad.json"
    path.write_text(
        '{"type": "data", "name": "Bad", "validVersions": "0", "flexibleVersions": "none", "fields": [\n'
        '  { "name": "a b", "type": "int32", "versions": "0" },\n'
        '  { "name": "C", "type": "int33", "versions": "0" } ] }\n'
    )
    text = out(capsys, "spec", "check", str(path), code=1)
    assert f"error {path}:2: $.fields[0].name: 'a b' is not a name; write a letter, then letters and digits\n" in text
    assert f"error {path}:3: $.fields[1].type: there is no type 'int33'; did you mean" in text
    assert text.endswith("1 spec: 0 valid, 1 not\n")


def test_all_our_specs_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(path) for path in sorted((ROOT / "schemas").glob("drafts/*"))] + [str(ROOT / "schemas/kafka")]
    assert out(capsys, "spec", "check", *folders).endswith("301 specs: 301 valid, 0 not\n")


def test_the_demo_explains_a_real_dump(capsys: pytest.CaptureFixture[str]) -> None:
    text = out(capsys, "demo")
    for words in ("is_new_replica = true", "offline_replicas = [2]", 'rack = "/dc1/r1"', "Try next:"):
        assert words in text


def test_hex_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = request(70000).hex(" ")
    assert out(capsys, "decode", "--hex", text).startswith("Metadata v1 request, correlation 70000")
    assert out(capsys, "explain", f"--hex={text}").startswith("# Metadata v1 request")
    body = out(capsys, "decode", "--hex", "ffffffff", "--body", "--as", "MetadataRequest:1", "--jsonl")
    assert json.loads(body)["payload"] == {"topics": None}
    assert main(["decode", "--hex", "zz"]) == 2
    assert "--hex:1: not recognised as hex or base64" in capsys.readouterr().err


def test_explain_writes_a_page(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    page = tmp_path / "page.html"
    assert main(["explain", "--html", "-o", str(page), DUMP]) == 0
    text = page.read_bytes()
    assert text.count(b"<details") == 6
    assert main(["explain", "--html", DUMP]) == 0
    assert capsysbinary.readouterr().out == text
    assert main(["explain", "--html", "-o", "/dev/null", DUMP]) == 0
    assert main(["explain", "--html", "-o", str(tmp_path / "no" / "page.html"), DUMP]) == 2
    assert main(["explain", "-o", str(page), DUMP]) == 2
    assert main(["explain", "--html", "--in-place", DUMP]) == 2
    assert main(["explain", "--html", "-o", str(page), "no-such-dump"]) == 2
    assert page.read_bytes() == text  # what could not be finished does not stay
    bad = tmp_path / "bad.bin"
    bad.write_bytes(bytes.fromhex("00000008 7fff0000 00000007"))
    assert main(["explain", "--html", "-o", str(page), str(bad)]) == 1
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_report_writes_a_page(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    page, bad = tmp_path / "report.html", tmp_path / "bad.bin"
    assert main(["report", DUMP, "-o", str(page)]) == 0
    assert b"LEADER_NOT_AVAILABLE" in page.read_bytes()
    bad.write_bytes(bytes.fromhex("00000008 7fff0000 00000007"))
    assert main(["report", DUMP, str(bad)]) == 1
    assert b"<dt>undecodable</dt><dd>1</dd>" in capsysbinary.readouterr().out


def test_a_log_line_is_decoded_and_encoded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, dump = tmp_path / "broker.log", tmp_path / "dump.bin"
    log.write_text(f"[2024-05-01 10:00:00,000] INFO started\n{LOG4J}\n")
    first, second = out(capsys, "decode", str(log), "--jsonl").splitlines()
    assert json.loads(first)["source"]["client"] == "127.0.0.1:50000"
    assert json.loads(second)["payload"]["controllerId"] == 7
    assert main(["encode", str(log), "-o", str(dump)]) == 0
    assert "broker.log: 1 lines without a request were left out" in capsys.readouterr().err
    asked, answer = kwire.read_dump(dump)  # a capture, for the log names the connection
    assert (asked.data, answer.data) == (bytes.fromhex(ASKED), bytes.fromhex(ANSWERED))
    assert (asked.source.client, answer.source.direction) == ("127.0.0.1:50000", "response")
    assert main(["encode", str(log), "-o", str(dump), "--raw"]) == 0
    assert dump.read_bytes() == bytes.fromhex(ASKED + ANSWERED)
    done = ran("encode", "-", "--hex", data=KROXYLICIOUS.encode())
    assert bytes.fromhex(done.stdout.decode()) == bytes.fromhex(ASKED)
    done = ran("encode", "-", data=f"[2024] Completed request:{KROXYLICIOUS[:-3]}\n{LOG4J}".encode())
    assert (done.returncode, b"-:1: not valid JSON" in done.stderr, done.stdout[:2]) == (1, True, b"M<")


def test_pages_are_named_after_their_inputs(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for command in (["report"], ["explain", "--html"]):
        assert main([*command, "--hex", request(1).hex(), DUMP]) == 0
        assert f"<h1>hex text, {DUMP}</h1>".encode() in capsysbinary.readouterr().out
