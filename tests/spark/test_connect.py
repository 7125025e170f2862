"""Spark Connect: a real server, to which kwire comes as its zip, and the tests of the classic session once more.

A process has one kind of session, so that these run in one of their own.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.arrow.captures import FRAMES
from tests.conftest import ROOT, lacking
from tests.spark.conftest import SERVER, SETTINGS

AGAIN = """
test_data_source.py::test_rows_are_those_of_arrow
test_data_source.py::test_a_struct_has_the_fields_of_all_versions
test_data_source.py::test_columns_are_chosen_by_name
test_data_source.py::test_a_wrong_option_is_an_error[options1-did you mean maxPartitionBytes]
test_functions.py::test_a_column_of_versions_and_back
test_functions.py::test_frames_say_their_header_and_version
test_records.py::test_rows_are_those_of_arrow
test_package_zip.py::test_workers_have_the_same_engine
test_cluster.py::test_frames_may_come_from_a_table
test_capture_stream.py::test_connections_go_on_over_files_and_restarts
""".strip().splitlines()
INSTALLED = f"""
import pathlib, sys
with pathlib.Path(__file__).with_name("found").open("a") as found:
    found.write(sys.argv[-1] + chr(10))
del sys.modules["kwire"]
sys.path.insert(0, {str(ROOT)!r})
import kwire
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server runs. Its Python finds a kwire that notes down who does not take the shipped one: in Spark 4.3
    streams, and the search for sources that are installed."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "kwire.py").write_text(INSTALLED)
    (folder / "found").touch()
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    """The address of a server."""
    if find_spec("grpc") is None:
        lacking("grpcio, which Spark Connect takes", "KWIRE_SPARK")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {**SETTINGS, "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": port}
    words = [word for one in settings.items() for word in ("--conf", "=".join(map(str, one)))]
    submit = str(Path(sys.executable).parent / "spark-submit")
    main = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = [submit, "--master", "local[2]", "--class", main, *words, "spark-internal"]
    env = {**os.environ, "PYTHONPATH": str(folder), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=env, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    try:
        await_port(process, port, folder / "log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def await_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return once something listens there."""
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"no server: {log.read_text()[-3000:]}")


def run(*words: str, server: str) -> subprocess.CompletedProcess[str]:
    """Run a module of Python as a client of a server, without Java."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "JAVA_HOME": "/nowhere", SERVER: server}
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, env=env, capture_output=True, text=True)


def test_all_that_works_in_a_classic_session_works_there(server: str) -> None:
    tests = [f"tests/spark/{name}" for name in AGAIN]
    done = run("pytest", "-m", "", "-p", "no:cacheprovider", "--durations=15", *tests, server=server)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


def test_a_pipeline_runs_there_on_the_kwire_that_is_shipped(server: str, folder: Path, tmp_path: Path) -> None:
    (folder / "found").write_text("")
    command = ["kwire", "pipeline", "--master", server, "--conf", "spark.sql.shuffle.partitions=2"]
    done = run(*command, str(FRAMES), "--out", str(tmp_path / "lake"), server=server)
    assert done.stdout.splitlines()[:1] == [f"frames {6:>26}"], done.stderr
    assert (tmp_path / "lake/partition_states/_SUCCESS").exists()
    assert {name.rpartition(".")[2] for name in (folder / "found").read_text().split()} <= {"lookup_data_sources"}
    lost = run(*command, str(tmp_path / "none"), "--out", str(tmp_path / "x"), server=server)
    assert lost.returncode == 2
    assert "there is no such file or folder" in lost.stderr


def test_a_server_that_is_not_there_is_said_at_once() -> None:
    if find_spec("grpc") is None:
        lacking("grpcio, which Spark Connect takes", "KWIRE_SPARK")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"sc://127.0.0.1:{nobody.getsockname()[1]}"
        done = run("kwire", "pipeline", str(FRAMES), "--master", address, "--out", "/tmp/none", server=address)
    assert done.returncode == 2, done.stderr
    assert "failed to connect" in done.stderr


def test_what_it_takes_is_said() -> None:
    code = "import sys; sys.modules['grpc'] = None; from kwire.cli.main import main; "
    code += "sys.exit(main(['pipeline', 'x', '--out', 'y', '--master', 'sc://localhost']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "sc://... needs the library grpcio; pip install 'kwire[connect]'" in done.stderr
