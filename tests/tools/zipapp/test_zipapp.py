"""The single-file program: it unpacks once, and `kwire serve` in it serves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from tests.tools.zipapp import __main__ as building
from tests.tools.zipapp import start


@pytest.fixture
def small(tmp_path: Path) -> Path:
    program = tmp_path / "small.pyz"
    with zipfile.ZipFile(program, "w") as archive:
        archive.writestr(start.BUILD, "abc cp311")
        archive.writestr("site/word.py", "WORD = 7\n")
        archive.writestr("__main__.py", "")
    return program


def test_it_unpacks_once_and_nothing_else(small: Path, tmp_path: Path) -> None:
    folder = start.unpack(small, tmp_path / "cache")
    assert folder == tmp_path / "cache" / "abc" / "site"
    assert [path.name for path in folder.iterdir()] == ["word.py"]
    (folder / "word.py").write_text("WORD = 8\n")
    assert start.unpack(small, tmp_path / "cache") == folder
    assert (folder / "word.py").read_text() == "WORD = 8\n"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["abc"]
    assert start.read_build(small) == ("abc", "cp311")
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        start.unpack(small, tmp_path / "file" / "cache")


def test_another_python_is_refused_in_one_line(
    small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "read_build", lambda archive: ("abc", "cp27"))
    assert start.main() == 2
    assert capsys.readouterr().err.startswith("kwire: error: this program needs Python cp27, and runs on cp3")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield building.build(tmp_path_factory.mktemp("program"))


@pytest.mark.ci
def test_the_program_serves(program: Path, tmp_path: Path) -> None:
    kept = ("PATH", "HOME", "SYSTEMROOT")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | {"XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-I", str(program)]
    version = subprocess.run([*command, "--version"], env=environment, capture_output=True, text=True, check=True)
    assert version.stdout.splitlines()[0].startswith(f"kwire {kwire.__version__}")
    (build,) = (tmp_path / "kwire").iterdir()
    assert building.size_of(build) < building.MOST_MEGABYTES << 20
    serve = [*command, "serve", ":0", "--json", "-q"]
    with subprocess.Popen(serve, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        servers = json.loads(process.stdout.readline())["bootstrapServers"]
        with BrokerConnection(address(servers), timeout=30, client_id="x") as connection:
            request = kwire.messages.MetadataRequest(topics=None)
            answer = connection.ask(kwire.codec("MetadataRequest", 12), request)
        process.terminate()
    assert answer is not None
    assert [broker.node_id for broker in answer.message.brokers] == [1]
    assert process.returncode == 0
