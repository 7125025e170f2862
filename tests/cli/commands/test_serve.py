"""`kwire serve` as a process, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import kwire
from kwire.broker.server.control_client import ControlClient
from kwire.cli.main import main, parser_for
from kwire.cli.serving.brokers import nodes_for
from kwire.cli.serving.settings import settings_for
from kwire.client.address import Address, address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from tests.conftest import ROOT

ALL = kwire.messages.MetadataRequest(topics=None)


def test_brokers_of_a_file_and_a_disk_that_fails(tmp_path: Path) -> None:
    rows = [{"id": node, "rack": f"/DC{node}", "logDirs": [str(tmp_path / f"d{node}")]} for node in (1, 2)]
    (tmp_path / "cluster.json").write_text(json.dumps({"brokers": rows}), "utf-8")
    command = [sys.executable, "-m", "kwire", "serve", ":0", "--cluster", str(tmp_path / "cluster.json")]
    command += ["--fail-log-dir", f"1:{tmp_path}/d1@0.2"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            places = re.findall(r"127\.0\.0\.1:\d+", process.stderr.readline())
            assert brokers_until_one_is_left(address(places[1])) == {2: "/DC2"}
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert "d1 has failed\nkwire: broker 1 has no log directory left" in process.stderr.read()
        finally:
            process.kill()


def brokers_until_one_is_left(place: Address) -> dict[int, str | None]:
    deadline, found = time.monotonic() + 90, dict[int, str | None]({1: None, 2: None})
    with BrokerConnection(place, timeout=90) as broker:
        while len(found) == 2 and time.monotonic() < deadline:
            answer = broker.ask(kwire.codec("MetadataRequest", 12), ALL)
            assert answer is not None
            found = {one.node_id: one.rack for one in answer.message.brokers}
    return found


def test_addresses_as_json_for_tests_in_other_languages() -> None:
    command = [sys.executable, "-m", "kwire", "serve", ":0", "--brokers", "2", "--control", "0", "--json", "--quiet"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout
            found = json.loads(process.stdout.readline())
            assert list(found) == ["bootstrapServers", "control", "controlToken"]
            control = ControlClient(found["control"], found["controlToken"])
            control.do("create_topic", {"topic": "orders"})
            assert brokers_at(address(found["bootstrapServers"].split(",")[1])) == {1: None, 2: None}
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert process.stdout.read() == b""
        finally:
            process.kill()


def brokers_at(place: Address) -> dict[int, str | None]:
    with BrokerConnection(place, timeout=90) as broker:
        answer = broker.ask(kwire.codec("MetadataRequest", 12), ALL)
        assert answer is not None
        return {one.node_id: one.rack for one in answer.message.brokers}


def test_equal_lines_are_printed_once_and_counted() -> None:
    command = [sys.executable, "-m", "kwire", "serve", ":0"]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            place = address(re.findall(r"127\.0\.0\.1:\d+", process.stderr.readline())[0])
            for _ in range(3):
                with socket.create_connection(place, 60) as client:
                    client.sendall(bytes.fromhex("16030100050100000102"))
                    assert client.recv(1) == b""
            process.send_signal(signal.SIGTERM)
            printed = process.stderr.read()
        finally:
            process.kill()
    line = "127.0.0.1: it speaks TLS; kwire serve has no TLS listener; closed\n"
    assert printed == f"kwire: {line}kwire: 0 requests of 3 connections\nkwire: 3 times: {line}"


def test_kafkas_own_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    listeners = "SSL://:9093,PLAINTEXT://127.0.0.1:19092"
    file.write_text(
        f"# a broker\nbroker.id=7\nlisteners={listeners}\nlog.dirs={tmp_path}/a, {tmp_path}/b\nbroker.rack=r\n"
    )
    (node,) = nodes_for(parser_for().parse_args(["serve", "--config", str(file)]), Address("localhost", 9092))
    assert (node.node_id, node.host, node.port, node.rack) == (7, "127.0.0.1", 19092, "r")
    assert [one.path for one in node.log_dirs] == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert node.address == ("127.0.0.1", 19092)
    file.write_text(file.read_text() + "advertised.listeners=SSL://a:1,PLAINTEXT://kafka.example:9092\n")
    (node,) = nodes_for(parser_for().parse_args(["serve", "--config", str(file)]), Address("localhost", 9092))
    assert (node.host, node.port, node.address) == ("127.0.0.1", 19092, ("kafka.example", 9092))


def test_the_replica_selector_of_kafkas_own_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def written(selector: str) -> str:
        file = tmp_path / "server.properties"
        file.write_text(f"broker.id=7\nlisteners=PLAINTEXT://127.0.0.1:0\nreplica.selector.class={selector}\n")
        return str(file)

    for selector, holds in (("org.apache.kafka.common.replica.RackAwareReplicaSelector", True), ("", False)):
        options = parser_for().parse_args(["serve", "--config", written(selector)])
        assert settings_for(options).rack_aware_fetch is holds
    assert main(["serve", "--config", written("my.Selector")]) == 2
    assert "'replica.selector.class' cannot be 'my.Selector'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "it is not JSON"),
        ("7", "there is no list of brokers in it"),
        ('[{"id": -1}]', "is not a broker"),
        ('[{"id": 1, "logDirs": [7]}]', "is not a broker"),
        ('[{"id": 1}, {"id": 1}]', "two brokers have the same id"),
        ("[]", "0 brokers cannot be served"),
        ('[{"id": 1, "host": "0.0.0.0"}]', "use --public to allow this"),
    ],
)
def test_files_that_are_no_clusters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    (tmp_path / "c.json").write_text(text, "utf-8")
    assert main(["serve", "--cluster", str(tmp_path / "c.json")]) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["0.0.0.0:9092"], "use --public to allow this"),
        (["--partitions", "0"], "at least one partition"),
        (["--assignor", "none"], "there is no replica assignor 'none'"),
        (["--fail-log-dir", "1:/x"], "there is no log directory '1:/x'; there are: 1:memory"),
        (["--brokers", "0"], "0 brokers cannot be served"),
        (["--partitions", "100000000"], "up to 20000 partitions"),
        (["--retention-bytes", "-5"], "-1 for unlimited"),
        (["--control", "70000"], "'70000' is no port; write 0 to 65535"),
        (["--metrics", "-1"], "'-1' is no port"),
        (["--tls-cert", "none.crt"], "none.crt: No such file or directory"),
    ],
)
def test_options_that_cannot_be(capsys: pytest.CaptureFixture[str], options: list[str], problem: str) -> None:
    with suppress(SystemExit):  # what argparse refuses
        assert main(["serve", *options]) == 2
    assert problem in capsys.readouterr().err


def test_the_reason_of_a_failed_log_directory_is_printed(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    command = [sys.executable, "-m", "kwire", "serve", ":0", "--data", str(tmp_path / "file")]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            lines = [process.stderr.readline() for _ in range(2)]
            assert lines[1].startswith(f"kwire: broker 1: log directory {tmp_path}/file has failed: ")
        finally:
            process.kill()


def test_the_process_ends_when_its_last_log_directory_fails(tmp_path: Path) -> None:
    directories = [str(tmp_path / name) for name in "ab"]
    options = ["--data", directories[0], "--data", directories[1], "--fail-log-dir", f"1:{directories[0]}"]
    command = [sys.executable, "-m", "kwire", "serve", ":0", *options, "--fail-log-dir", f"1:{directories[1]}@0.1"]
    done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, timeout=90, check=False)
    lines = done.stderr.splitlines()
    assert done.returncode == 2
    assert "kwire: broker 1 has no log directory left, and stops" in lines
    assert any("all log directories have failed, and no broker is left" in line for line in lines)
    assert "Traceback" not in done.stderr


def test_the_process_goes_on_while_a_broker_is_left_or_can_be_started() -> None:
    command = [sys.executable, "-m", "kwire", "serve", ":0", "--brokers", "2", "--control", "0", "--json", "--quiet"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stderr
            found = json.loads(process.stdout.readline())
            control = ControlClient(found["control"], found["controlToken"])
            control.do("fail_log_dir", {"broker": 1, "log_dir": 0})
            control.do("stop_broker", {"broker": 2})
            control.do("start_broker", {"broker": 2})
            control.do("create_topic", {"topic": "t"})
            with suppress(CallError):  # the process may end before it has answered
                control.do("fail_log_dir", {"broker": 2, "log_dir": 0})
            assert process.wait(60) == 2
            assert "no broker is left" in process.stderr.read()
        finally:
            process.kill()


@pytest.mark.parametrize("is_given", [True, False])
def test_the_token_of_the_control_port(is_given: bool) -> None:
    command = [sys.executable, "-m", "kwire", "serve", ":0", "--control", "0", "--json"]
    env = {**os.environ, "KWIRE_CONTROL_TOKEN": "known"} if is_given else None
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout and process.stderr
            found = json.loads(process.stdout.readline())
            token = found["controlToken"]
            assert token == "known" if is_given else len(token) > 20
            assert ControlClient(found["control"], token).do("notes", {}) == []
            with pytest.raises(ValueError, match="Authorization: Bearer TOKEN"):
                ControlClient(found["control"], "other").do("notes", {})
            process.send_signal(signal.SIGTERM)
            assert f"control on {found['control']}, token {token}\n" in process.stderr.read()
        finally:
            process.kill()
