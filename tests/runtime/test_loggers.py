"""What kwire logs, and that it is silent until a program asks."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import kwire
from kwire.client.address import Address
from kwire.client.connection import BrokerConnection
from kwire.client.security import Security
from kwire.errors import CallError
from kwire.testing import Kafka

SILENT = """
import logging, socket
from kwire.testing import Kafka
with Kafka() as kafka:
    host, port = kafka.bootstrap_servers.split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"GET / HTTP/1.1")
        client.recv(1)
    assert kafka.notes()
print(logging.getLogger("kwire").handlers, logging.getLogger("kwire.broker").handlers)
"""


def test_connections_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "kwire"), Kafka() as kafka:
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        with BrokerConnection(Address(host, int(port)), client_id="me") as broker:
            broker.ask(kwire.codec("ApiVersionsRequest", 0), kwire.messages.ApiVersionsRequest())
    lines = {(record.name, record.levelname, record.getMessage()) for record in caplog.records}
    assert lines >= {
        ("kwire.client", "DEBUG", f"{host}:{port}: connected as 'me'"),
        ("kwire.client", "DEBUG", f"{host}:{port}: closed"),
        ("kwire.broker", "DEBUG", "broker 1: connection 1 of 127.0.0.1 opened"),
        ("kwire.broker", "DEBUG", "broker 1: connection 1 of 127.0.0.1 closed"),
    }


def test_a_refused_login_is_a_warning_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    wrong = Security("SASL_PLAINTEXT", "PLAIN", "alice", "hunter2")
    with caplog.at_level(logging.DEBUG, "kwire"), Kafka(users={"alice": "wonderland"}) as kafka:
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        with pytest.raises(CallError):
            BrokerConnection(Address(host, int(port)), security=wrong)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["127.0.0.1: SASL authentication failed; closed"]
    assert "hunter2" not in caplog.text and "wonderland" not in caplog.text


def test_nothing_is_printed_unless_a_program_asks() -> None:
    done = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("[<NullHandler (NOTSET)>] []", "")
