"""Clients of `kwire serve` and `kwire.testing` that authenticate and use TLS, and what is kept and printed of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kwire
from kwire.broker.server.frame_recorder import FrameRecorder
from kwire.broker.server.listener_tls import tls_context
from kwire.cli.main import main
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.client.security import Security
from kwire.errors import CallError, DumpError
from kwire.protocol import Request, Source, Token
from kwire.testing import Kafka, Tls
from tests.conftest import lacking
from tests.interop.security_steps import ALLOW, LITERAL, READ, TOPIC, Asking

M = kwire.messages
PASSWORD, SUBJECT = "s3cr3t-wonder", "/C=SE/O=Tests/CN=client"


def certified(folder: Path, name: str, subject: str, *more: str) -> tuple[str, str]:
    """Make a certificate and its key with openssl; returns their files."""
    if shutil.which("openssl") is None:
        lacking("openssl")
    files = str(folder / f"{name}.crt"), str(folder / f"{name}.key")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", subject, "-out", files[0], "-keyout", files[1], *more]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    return files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    certified(folder, "server", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    certified(folder, "client", SUBJECT)
    return folder


def dialled(place: str, folder: Path, client: str | None = None) -> BrokerConnection:
    """Connect with TLS."""
    pair = [str(folder / f"{client}.{kind}") for kind in ("crt", "key")] if client else [None, None]
    security = Security("SSL", ca=str(folder / "server.crt"), cert=pair[0], key=pair[1])
    return BrokerConnection(address(place), timeout=180, security=security)


def ask(connection: BrokerConnection, name: str, version: int, **fields: object) -> object:
    answer = connection.ask(kwire.codec(f"{name}Request", version), getattr(M, f"{name}Request")(**fields))
    assert answer is not None
    return answer.message


def seen(connection: BrokerConnection) -> list[str]:
    """The topics that a client may describe."""
    return [one.name for one in ask(connection, "Metadata", 9, topics=None).topics]  # type: ignore[attr-defined]


def acl_for(principal: str) -> object:
    row = M.CreateAclsRequest.AclCreation(
        resource_type=TOPIC,
        resource_name="t",
        resource_pattern_type=LITERAL,
        principal=principal,
        host="*",
        operation=READ,
        permission_type=ALLOW,
    )
    return M.CreateAclsRequest(creations=(row,))


@pytest.mark.parametrize("process", [False, True])
def test_the_subject_of_a_clients_certificate_is_its_principal(folder: Path, process: bool) -> None:
    tls = Tls(str(folder / "server.crt"), str(folder / "server.key"), str(folder / "client.crt"))
    admin = "User:CN=client,O=Tests,C=SE"
    with Kafka(tls=tls, acls=True, super_users=[admin], topics=["t"], process=process) as kafka:
        with dialled(kafka.bootstrap_servers, folder, "client") as connection:
            assert seen(connection) == ["t"]
        with (
            pytest.raises(CallError, match=r"it refuses TLS|closed the connection|Broken pipe|reset by peer"),
            dialled(kafka.bootstrap_servers, folder) as connection,
        ):
            seen(connection)


def test_sasl_runs_over_tls_and_anonymous_clients_see_nothing(folder: Path) -> None:
    tls = Tls(str(folder / "server.crt"), str(folder / "server.key"))
    with (
        Kafka(tls=tls, users={"a": PASSWORD}, acls=True, super_users=["a"], topics=["t"]) as kafka,
        dialled(kafka.bootstrap_servers, folder) as connection,
    ):
        ask(connection, "SaslHandshake", 1, mechanism="PLAIN")
        ask(connection, "SaslAuthenticate", 2, auth_bytes=f"\0a\0{PASSWORD}".encode())
        assert seen(connection) == ["t"]
        row = M.DescribeConfigsRequest.DescribeConfigsResource(resource_type=4, resource_name="1")
        configs = ask(connection, "DescribeConfigs", 4, resources=(row,)).results[0].configs  # type: ignore[attr-defined]
        assert {one.value.partition(":")[0] for one in configs if one.name == "listeners"} == {"SASL_SSL"}


def test_frames_and_captures_have_no_secret(tmp_path: Path) -> None:
    with Kafka(users={"alice": PASSWORD}) as kafka:
        broker = Asking(kafka.bootstrap_servers, lambda seconds: None)
        broker.user = "alice"
        with broker.dial() as connection:
            assert broker.login(connection, "alice", PASSWORD)[0] == 0
            request = M.AlterUserScramCredentialsRequest
            row = request.ScramCredentialUpsertion(
                name="bob", mechanism=1, iterations=4096, salt=b"the-salt", salted_password=b"the-salted-password"
            )
            found = broker.send(connection, "AlterUserScramCredentials", 0, upsertions=(row,))
            assert found.results[0].error_code == 0
        with broker.dial() as connection:
            broker.send(connection, "SaslHandshake", 0, mechanism="PLAIN")
            token = f"\0alice\0{PASSWORD}".encode()
            connection._socket.sendall(len(token).to_bytes(4, "big") + token)
            assert connection._socket.recv(4) == bytes(4)
        frames = kafka.frames()
        kafka.save_capture(str(tmp_path / "c.pcap"))
    data = (tmp_path / "c.pcap").read_bytes()
    for secret in (PASSWORD.encode(), b"the-salt", b"the-salted-password"):
        assert secret not in data
        assert secret not in repr(frames).encode()
    assert sum(isinstance(one, Token) for one in frames) == 2
    assert {one.api_name for one in frames if isinstance(one, Request)} >= {"SaslAuthenticate", "SaslHandshake"}


def test_acls_and_credentials_are_there_after_a_restart(tmp_path: Path) -> None:
    settings = {"users": {"admin": "adminpw"}, "acls": True, "super_users": ["admin"], "directory": tmp_path}
    for time in range(3):
        with Kafka(**settings) as kafka:  # type: ignore[arg-type]
            broker = Asking(kafka.bootstrap_servers, lambda seconds: None)
            if not time:
                kafka.create_topic("t")
                assert broker.send_as_admin(acl_for("User:bob")).results[0].error_code == 0
                assert broker.send_as_admin(acl_for("User:eve")).results[0].error_code == 0
                assert broker.forget(principal_filter="User:eve") == (0, 1)
                assert broker.set_scram(("bob", 1, PASSWORD, 4096)) == [0]
                assert broker.set_scram(("eve", 2, PASSWORD, 4096)) == [0]
                assert broker.unset_scram("eve", 2) == [0]
            assert broker.acls()[1] == [(LITERAL, "User:bob", "*", READ, ALLOW)]
            assert broker.scram("bob", PASSWORD) is True
            assert broker.scram("eve", PASSWORD, "SCRAM-SHA-512")[1] == 58
            for connection in broker.connections.values():
                connection.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sasl-mechanisms", "PLAIN"], "without --sasl-users clients do not authenticate"),
        (["--tls-key", "k"], "without --tls-cert there is no TLS"),
        (["--super-user", "a"], "without --acls every user may do everything"),
        (["--sasl-users", "users", "--sasl-mechanisms", "GSSAPI"], "there is no mechanism 'GSSAPI'"),
        (["--sasl-users", "bad"], "line 2 is not a user"),
        (["--sasl-users", "twice"], "line 2 repeats a user"),
        (["--sasl-users", "empty"], "it has no user"),
        (["--sasl-users", "missing"], "missing"),
        (["--tls-cert", "users"], "no certificate with its key"),
        (["--release", "7.7"], "there is no release '7.7'"),
    ],
)
def test_options_that_cannot_be_are_refused(
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("users", "a:hidden"),
        ("bad", "a:hidden\nhidden\n"),
        ("twice", "a:hidden\na:hidden\n"),
        ("empty", "# a:hidden"),
    ):
        Path(name).write_text(text, "utf-8")
    assert main(["serve", ":0", *options]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "hidden" not in printed


def test_a_key_with_a_password_is_refused_without_asking(folder: Path) -> None:
    locked = folder / "locked.key"
    command = ["openssl", "ec", "-in", str(folder / "server.key"), "-aes256", "-passout", "pass:x", "-out", str(locked)]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    with pytest.raises(DumpError, match="PEM files"):
        tls_context(str(folder / "server.crt"), str(locked))


def test_passwords_of_a_process_are_in_a_file_of_its_own() -> None:
    with Kafka(users={"alice": PASSWORD}, process=True) as kafka:
        with BrokerConnection(address(kafka.bootstrap_servers), timeout=180) as connection:
            ask(connection, "SaslHandshake", 1, mechanism="PLAIN")
            found = ask(connection, "SaslAuthenticate", 2, auth_bytes=f"\0alice\0{PASSWORD}".encode())
            assert found.error_code == 0  # type: ignore[attr-defined]
        if sys.platform == "linux":
            process = kafka._backend._process  # type: ignore[union-attr]
            command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            assert b"--sasl-users" in command
            assert PASSWORD.encode() not in command
            file = Path(command.split(b"--sasl-users\0")[1].partition(b"\0")[0].decode())
            assert file.stat().st_mode & 0o077 == 0


def test_a_token_whose_handshake_was_forgotten_is_hidden() -> None:
    recorder = FrameRecorder()
    recorder.has_secrets = True
    token = f"\0alice\0{PASSWORD}".encode()
    recorder.add(len(token).to_bytes(4, "big") + token, Source(direction="request"))
    (frame,) = recorder.frames()
    assert len(frame.data) == 4 + len(token)
    assert PASSWORD.encode() not in frame.data
