"""Clients that people use, with SASL and TLS, at `kwire serve`; and Kafka's own tools for users and ACLs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import kwire
from kwire.testing import Kafka, Tls
from tests.broker.server.test_security import certified
from tests.interop.clients import KAFKA_PYTHON, PATIENCE, need_client, until
from tests.interop.kafka import RELEASES, java, need

USERS = {"admin": "admin-secret", "alice": "alice-secret"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    certified(tmp_path, "server", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    return tmp_path


@pytest.fixture
def cluster(folder: Path) -> Iterator[Kafka]:
    tls = Tls(str(folder / "server.crt"), str(folder / "server.key"))
    with Kafka(tls=tls, users=USERS, acls=True, super_users=["admin"], topics=["t"]) as kafka:
        yield kafka


def kcat(kafka: Kafka, folder: Path, mechanism: str, password: str, *arguments: str, sent: str = "") -> tuple[int, str]:
    """Run kcat as alice; return its exit code, and what it printed."""
    options = {
        "security.protocol": "sasl_ssl",
        "ssl.ca.location": str(folder / "server.crt"),
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": password,
        "message.timeout.ms": "15000",
    }
    command = ["kcat", "-b", kafka.bootstrap_servers, *arguments]
    command += [word for name, value in options.items() for word in ("-X", f"{name}={value}")]
    done = subprocess.run(command, input=sent, capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout + done.stderr


def test_kcat(cluster: Kafka, folder: Path) -> None:
    """With PLAIN: librdkafka before 2.6.1 gives its nonce of SCRAM twice, which Kafka refuses since 3.7.2."""
    need_client("kcat")
    code, printed = kcat(cluster, folder, "PLAIN", "wrong", "-L", "-m", "5")
    assert code
    assert "uthentication failed" in printed
    code, printed = kcat(cluster, folder, "PLAIN", "alice-secret", "-t", "t", "-P", sent="one\n")
    assert (code != 0, "Topic authorization failed" in printed) == (True, True), printed
    allow(cluster, "alice")
    assert kcat(cluster, folder, "PLAIN", "alice-secret", "-t", "t", "-P", sent="one\n")[0] == 0
    assert [record.value for record in cluster.records("t")] == [b"one"]
    assert "one" in kcat(cluster, folder, "PLAIN", "alice-secret", "-t", "t", "-C", "-e")[1]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kafka_python(cluster: Kafka, mechanism: str) -> None:
    def passed_on(password: str, seconds: int = 60) -> str:
        return kafka_python("pass-on", cluster, mechanism, "alice", password, "t", "one", str(seconds))

    def is_refused() -> bool:
        assert passed_on("wrong", 5) in ("KafkaTimeoutError", "SaslAuthenticationFailedError")
        answers = [each for each in cluster.frames(api="SaslAuthenticate") if isinstance(each, kwire.Response)]
        errors = {each.message.error_code for each in answers}
        return errors == {0, kwire.values.ErrorCode.SASL_AUTHENTICATION_FAILED}

    until(is_refused)  # again on a busy machine, where 5 seconds may not be enough to be answered
    assert passed_on("alice-secret") == "TopicAuthorizationFailedError"
    allow(cluster, "alice")
    assert passed_on("alice-secret") == "one"


def kafka_python(task: str, cluster: Kafka, mechanism: str, user: str, password: str, *arguments: str) -> str:
    """Run the program of kafka-python as a user, and return what it printed."""
    need_client("kafka-python")
    assert cluster._plan.tls is not None
    options = {
        "bootstrap_servers": cluster.bootstrap_servers,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": cluster._plan.tls.certificate,
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }
    command = [*KAFKA_PYTHON, task, json.dumps(options), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()


def allow(cluster: Kafka, name: str) -> None:
    """Let a user do everything with all topics."""
    kafka_python("allow", cluster, "SCRAM-SHA-512", "admin", USERS["admin"], f"User:{name}")


def test_kafkas_own_tools_make_users_and_acls(tmp_path: Path) -> None:
    need("java", "mvn")
    with Kafka(users=USERS, acls=True, super_users=["admin"], topics=["t"]) as kafka:
        settings = tmp_path / "admin.properties"
        login = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="admin" password="{}";'
        settings.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
            f"sasl.jaas.config={login.format(USERS['admin'])}\n"
        )
        where = ["--bootstrap-server", kafka.bootstrap_servers, "--command-config", str(settings)]
        who = ["--allow-principal", "User:bob", "--producer", "--topic", "t"]
        java(RELEASES[0], "kafka.admin.AclCommand", *where, "--add", *who)
        printed = java(RELEASES[0], "kafka.admin.AclCommand", *where, "--list", "--topic", "t")
        assert {line.split("operation=")[1].split(",")[0] for line in printed.splitlines() if "User:bob" in line} == {
            "WRITE",
            "DESCRIBE",
            "CREATE",
        }
        new = ["--alter", "--entity-type", "users", "--entity-name", "bob", "--add-config"]
        java(
            RELEASES[0],
            "kafka.admin.ConfigCommand",
            *where,
            *new,
            "SCRAM-SHA-512=[iterations=8192,password=bob-secret]",
        )
        printed = java(
            RELEASES[0],
            "kafka.admin.ConfigCommand",
            *where,
            "--describe",
            "--entity-type",
            "users",
            "--entity-name",
            "bob",
        )
        assert "SCRAM-SHA-512=iterations=8192" in printed
