"""`kwire decode --parquet`."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import kwire
from kwire.cli.main import main
from tests.arrow.captures import FRAMES


def test_dumps_become_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", str(FRAMES), "--parquet", str(tmp_path), "--api", "Metadata"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"kwire: 2 frames in {tmp_path}/frames.parquet\n"
    table = pq.read_table(tmp_path / "frames.parquet")
    assert table["message"].type.names == ["request", "response"]
    assert main(["decode", str(FRAMES), "--parquet", str(tmp_path)]) == 2
    assert f"{tmp_path}/frames.parquet: it is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--hex", "00"], "it cannot be combined with hex"),
        ([str(FRAMES), "--client", "me"], "it cannot be combined with client"),
        (["-"], "--parquet reads files: name them"),
        ([str(FRAMES), "--api", "Metadata:12"], "leave out :VERSION"),
        (["nothing.here"], "there is no such file"),
    ],
)
def test_what_does_not_go_together_is_said(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decode", *arguments, "--parquet", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_frames_that_do_not_decode_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.bin").write_bytes(FRAMES.read_bytes() + bytes.fromhex("00000008 7fff 0000 00000001"))
    assert main(["decode", str(tmp_path / "bad.bin"), "--parquet", str(tmp_path / "out")]) == 1
    assert "7 frames, 1 not decoded in" in capsys.readouterr().err


def test_secrets_are_masked_unless_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    request = kwire.messages.SaslAuthenticateRequest(auth_bytes=b"\0alice\0correct horse")
    (tmp_path / "sasl.bin").write_bytes(kwire.encode_request(request, 1, client_id="me"))
    seen = []
    for more in ([], ["--show-secrets"]):
        folder = tmp_path / "-".join(["out", *more])
        assert main(["decode", str(tmp_path / "sasl.bin"), "--parquet", str(folder), *more]) == 0
        seen += pq.read_table(folder / "frames.parquet")["message"].to_pylist()
    assert seen == ['{"authBytes":{"_hidden":20}}', '{"authBytes":"AGFsaWNlAGNvcnJlY3QgaG9yc2U="}']
    masked, unmasked = capsys.readouterr().err.splitlines()
    assert masked.endswith("frames.parquet")
    assert unmasked.endswith("frames.parquet; secrets in it are not masked")
