"""`kwire redact` writes a dump of the same size, and says what it took out."""

from __future__ import annotations

from pathlib import Path

import pytest

import kwire
from kwire.cli.main import main
from kwire.redact.redaction_rules import REASONS
from kwire.redact.redactor import Redactor
from tests.cli.test_commands import out
from tests.cli.test_main import DUMP
from tests.conftest import ROOT


def test_the_same_shape_without_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"
    assert main(["redact", DUMP, "-o", str(target)]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"kwire: {DUMP}: read as raw frames\nkwire: 6 frames, 27 values removed\n"
    assert captured.out.splitlines()[1] == "client   3       client ids are names of applications"
    assert target.stat().st_size == 818
    assert out(capsys, "stats", str(target)) == out(capsys, "stats", DUMP)
    assert "lonely" not in out(capsys, "decode", "-v", str(target))


def test_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"
    out(capsys, "redact", DUMP, "-o", str(target), "--keep", "topic,client,cluster,host,rack")
    assert target.read_bytes() == Path(DUMP).read_bytes()


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    listed, kept = out(capsys, "redact", "--list").split("\n\n")
    assert len(listed.splitlines()) == len(REASONS) + 1
    assert "client software" in kept


def test_cluster_ids_are_replaced_by_the_same_names_everywhere(tmp_path: Path) -> None:
    frames = []
    for number, cluster in enumerate(("MkU3OEVBNTcwNTJENDM2Qg", "8rsJUXHSSRqXVwYqVqVSTw", "MkU3OEVBNTcwNTJENDM2Qg")):
        metadata = kwire.messages.MetadataResponse(cluster_id=cluster)
        described = kwire.messages.DescribeClusterResponse(cluster_id=cluster)
        frames.append(kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 9, correlation_id=number))
        frames.append(kwire.encode_response(metadata, 9, correlation_id=number))
        frames.append(kwire.encode_request(kwire.messages.DescribeClusterRequest(), 0, correlation_id=number))
        frames.append(kwire.encode_response(described, 0, correlation_id=number))
    source, target = tmp_path / "in.bin", tmp_path / "out.bin"
    source.write_bytes(b"".join(frames))
    assert main(["redact", str(source), "-o", str(target)]) == 0
    messages = [result.message for result in kwire.decode_frames(kwire.read_dump(target))]  # type: ignore[union-attr]
    ids = [message.cluster_id for message in messages if hasattr(message, "cluster_id")]
    assert ids[:2] == ids[4:] != ids[2:4]
    assert len(set(ids)) == 2
    assert not set(ids) & {"MkU3OEVBNTcwNTJENDM2Qg", "8rsJUXHSSRqXVwYqVqVSTw"}
    assert all(len(cluster) == 22 for cluster in ids)


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "dump.bin"
    copy.write_bytes(Path(DUMP).read_bytes())
    for arguments, text in (
        ([DUMP], "redact takes FILE and -o OUT"),
        ([DUMP, "-o", "x", "--keep", "nonsense"], "--keep nonsense: write some of records, sasl"),
        ([str(copy), "-o", str(copy)], "this is the input itself"),
    ):
        assert main(["redact", *arguments]) == 2
        assert text in capsys.readouterr().err
    assert copy.read_bytes() == Path(DUMP).read_bytes()


CAPTURE = str(ROOT / "fixtures/dumps/kafka-3.9-zk.pcap")


def test_a_capture_stays_a_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"  # its name says nothing
    assert main(["redact", CAPTURE, "-o", str(target)]) == 0
    assert "written as a capture (pcap) of" in capsys.readouterr().err
    before, after = (list(kwire.read_dump(path)) for path in (CAPTURE, target))
    assert [len(frame.data) for frame in after] == [len(frame.data) for frame in before]
    for one, other in zip(before, after, strict=True):
        for name in ("client", "broker", "direction", "time"):
            assert getattr(one.source, name) == getattr(other.source, name)
    assert out(capsys, "check", str(target)).endswith("114 encoded to the same bytes, 0 not\n")


def test_raw_frames_of_a_capture_come_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.bin"
    assert main(["redact", CAPTURE, "-o", str(target), "--raw"]) == 0
    assert "raw frames of several connections" in capsys.readouterr().err
    assert target.stat().st_size == sum(len(frame.data) for frame in kwire.read_dump(CAPTURE))


def test_a_copy_that_is_read_otherwise_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    redact = Redactor.redact

    def redact_and_damage(self: Redactor, frame: kwire.Frame) -> bytes:
        data = redact(self, frame)
        return data[:4] + b"\x7f\xff" + data[6:] if frame.source.frame == 0 else data

    monkeypatch.setattr(Redactor, "redact", redact_and_damage)
    target = str(tmp_path / "out.bin")
    assert main(["redact", DUMP, "-o", target]) == 1
    told = capsys.readouterr().err
    assert f"{target} is read otherwise than the input: LeaderAndIsr v7 request: 1 before, 0 now" in told


def test_addresses_are_rewritten_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.pcap"
    capture = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"
    out(capsys, "redact", str(capture), "-o", str(target), "--addresses")
    assert b"127.0.0.1" not in target.read_bytes()
    brokers = {result.frame.source.broker for result in kwire.decode_frames(kwire.read_dump(target))}
    named = set[str]()
    for result in kwire.decode_frames(kwire.read_dump(target)):
        if isinstance(result, kwire.Response) and isinstance(result.message, kwire.messages.MetadataResponse):
            named |= {f"{broker.host}:{broker.port}" for broker in result.message.brokers}
    assert named
    assert named & brokers
    assert main(["redact", str(capture), "-o", str(target), "--addresses", "--keep", "host"]) == 2
    assert "--addresses" in capsys.readouterr().err
