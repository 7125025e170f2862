"""Clients that people use, with SASL and TLS, at `kwire serve`; and Kafka's own tools for users and ACLs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire.testing import Kafka, Tls
from tests.interop.clients import PATIENCE, need_client
from tests.interop.kafka import RELEASES, java, need
from tests.net.test_security import certified

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


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kcat(cluster: Kafka, folder: Path, mechanism: str) -> None:
    need_client("kcat")
    need_client("kafka-python")
    code, printed = kcat(cluster, folder, mechanism, "wrong", "-L", "-m", "5")
    assert code
    assert "uthentication failed" in printed
    code, printed = kcat(cluster, folder, mechanism, "alice-secret", "-t", "t", "-P", sent="one\n")
    assert (code != 0, "Topic authorization failed" in printed) == (True, True), printed
    with cluster.on("Produce").observe():
        allow(cluster, "alice")
        assert kcat(cluster, folder, mechanism, "alice-secret", "-t", "t", "-P", sent="one\n")[0] == 0
    assert [record.value for record in cluster.records("t")] == [b"one"]
    assert "one" in kcat(cluster, folder, mechanism, "alice-secret", "-t", "t", "-C", "-e")[1]


def allow(cluster: Kafka, name: str) -> None:
    """Let a user do everything with all topics."""
    from kafka import KafkaAdminClient
    from kafka.admin import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType

    tls = cluster._plan.tls
    assert tls is not None
    admin = KafkaAdminClient(
        bootstrap_servers=cluster.bootstrap_servers,
        security_protocol="SASL_SSL",
        ssl_cafile=tls.certificate,
        sasl_mechanism="SCRAM-SHA-512",
        sasl_plain_username="admin",
        sasl_plain_password=USERS["admin"],
    )
    everything = ResourcePattern(ResourceType.TOPIC, "*")
    admin.create_acls([ACL(f"User:{name}", "*", ACLOperation.ALL, ACLPermissionType.ALLOW, everything)])
    admin.close()


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
        java(RELEASES[1], "org.apache.kafka.tools.AclCommand", *where, "--add", *who)
        printed = java(RELEASES[1], "org.apache.kafka.tools.AclCommand", *where, "--list", "--topic", "t")
        assert {line.split("operation=")[1].split(",")[0] for line in printed.splitlines() if "User:bob" in line} == {
            "WRITE",
            "DESCRIBE",
            "CREATE",
        }
        new = ["--alter", "--entity-type", "users", "--entity-name", "bob", "--add-config"]
        java(
            RELEASES[1],
            "kafka.admin.ConfigCommand",
            *where,
            *new,
            "SCRAM-SHA-512=[iterations=8192,password=bob-secret]",
        )
        printed = java(
            RELEASES[1],
            "kafka.admin.ConfigCommand",
            *where,
            "--describe",
            "--entity-type",
            "users",
            "--entity-name",
            "bob",
        )
        assert "SCRAM-SHA-512=iterations=8192" in printed
