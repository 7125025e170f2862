"""Commands that connect to brokers with TLS and SASL: what they do, and what they print if it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import pytest

import kwire
from kwire.capture.pcap_writer import PcapWriter
from kwire.cli.main import main
from kwire.client.address import Address, address
from kwire.client.connection import BrokerConnection
from kwire.client.security import Security
from kwire.errors import CallError
from kwire.protocol.sasl.client_exchange import SaslClientExchange
from kwire.protocol.sasl.mechanisms import AuthenticationFailed
from kwire.testing import Kafka, Tls
from tests.broker.server.test_security import PASSWORD, certified
from tests.client.test_proxy import through

SASL = ["--sasl-username", "alice", "--sasl-password-file", "password"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("security")
    certified(folder, "server", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1")
    certified(folder, "elsewhere", "/CN=elsewhere", "-addext", "subjectAltName=DNS:elsewhere")
    certified(folder, "client", "/CN=client")
    (folder / "password").write_text(f"{PASSWORD}\n")
    (folder / "wrong").write_text("something-else\n")
    (folder / "empty").write_text("\n")
    (folder / "garbage").write_text("no certificate\n")
    return folder


@pytest.fixture(autouse=True)
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("KWIRE_SASL_PASSWORD", raising=False)


@pytest.fixture(scope="module")
def both(folder: Path) -> Iterator[str]:
    """Two brokers with SASL over TLS."""
    tls = Tls(str(folder / "server.crt"), str(folder / "server.key"))
    with Kafka(brokers=2, tls=tls, users={"alice": PASSWORD}, topics=["t"]) as kafka:
        yield kafka.bootstrap_servers.partition(",")[0]


@pytest.fixture(scope="module")
def tls(folder: Path) -> Iterator[str]:
    """A broker with TLS that wants a certificate."""
    files = [str(folder / name) for name in ("server.crt", "server.key", "client.crt")]
    with Kafka(tls=Tls(*files)) as kafka:
        yield kafka.bootstrap_servers


@pytest.fixture(scope="module")
def sasl() -> Iterator[str]:
    """A broker with SASL alone."""
    with Kafka(users={"alice": PASSWORD}) as kafka:
        yield kafka.bootstrap_servers


@pytest.fixture(scope="module")
def neither() -> Iterator[str]:
    with Kafka() as kafka:
        yield kafka.bootstrap_servers


@pytest.mark.parametrize("mechanism", ["PLAIN", "scram-sha-256", "SCRAM-SHA-512"])
def test_call_authenticates_with_every_mechanism(
    both: str, mechanism: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KWIRE_SASL_PASSWORD", PASSWORD)
    options = ["--security-protocol", "sasl_ssl", "--ca", "server.crt", "--sasl-mechanism", mechanism]
    assert main(["call", both, "Metadata", "--jsonl", *options, "--sasl-username", "alice"]) == 0
    assert len(json.loads(capsys.readouterr().out)["payload"]["brokers"]) == 2


def test_cluster_and_place_authenticate_to_every_broker(both: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--security-protocol", "SASL_SSL", "--ca", "server.crt", *SASL]
    assert main(["cluster", both, "--json", *options]) == 0
    found = json.loads(capsys.readouterr().out)["logDirs"]
    assert [one["broker"] for one in found] == [1, 2]
    rows = '[{"name": "moved", "numPartitions": -1, "replicationFactor": -1, "assignments": [%s]}]'
    topics = "topics:=" + rows % '{"partitionIndex": 0, "brokerIds": [1]}'
    assert main(["call", both, "CreateTopics", "--yes", *options, topics]) == 0
    assert main(["place", both, "--topic", "moved", "--replace", "1=2", "--apply", *options]) == 0
    printed = capsys.readouterr()
    assert "carried out: 1 done" in printed.err
    assert PASSWORD not in printed.err + printed.out


def test_clients_without_tls_and_sasl_use_the_proxys(both: str, folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "kwire",
        "proxy",
        "127.0.0.1:0",
        both,
        "--jsonl",
        "--security-protocol",
        "SASL_SSL",
    ]
    with subprocess.Popen(
        [*command, "--ca", "server.crt", "--sasl-mechanism", "SCRAM-SHA-256", *SASL],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    ) as process:
        try:
            assert process.stderr is not None
            place = process.stderr.readline().split("listening on ")[1].split()[0]
            with BrokerConnection(address(place), timeout=180) as client:
                assert set(client.versions()) >= {0, 1, 3, 36}
        finally:
            process.terminate()
            printed = process.communicate(timeout=180)
    assert json.loads(printed[0].splitlines()[0])["header"]["apiName"] == "ApiVersions"
    assert "Sasl" not in printed[0]


@pytest.mark.parametrize(
    ("place", "options", "message"),
    [
        (
            "sasl",
            ["SASL_PLAINTEXT", "--sasl-username", "alice", "--sasl-password-file", "wrong"],
            "authentication failed: Authentication failed: Invalid username or password\n  hint: is it this user",
        ),
        (
            "sasl",
            [
                "SASL_PLAINTEXT",
                "--sasl-username",
                "alice",
                "--sasl-password-file",
                "wrong",
                "--sasl-mechanism",
                "SCRAM-SHA-512",
            ],
            "invalid credentials with SASL mechanism SCRAM-SHA-512",
        ),
        ("sasl", ["PLAINTEXT"], "does this listener use TLS or SASL? see --security-protocol"),
        ("sasl", ["SSL"], "it does not answer in TLS"),
        ("neither", ["SSL"], "it does not answer in TLS"),
        ("neither", ["SASL_PLAINTEXT", *SASL], "its mechanisms: none: is this a listener without SASL?"),
        ("tls", ["PLAINTEXT"], "--security-protocol"),
        (
            "tls",
            ["SSL"],
            "its certificate is not trusted: self-signed certificate\n  hint: name the authority's file with --ca",
        ),
        ("tls", ["SSL", "--ca", "elsewhere.crt"], "its certificate is not trusted"),
        ("tls", ["SSL", "--ca", "server.crt"], "does it want a certificate that it trusts? see --cert and --key"),
        (
            "tls",
            ["SSL", "--ca", "server.crt", "--cert", "elsewhere.crt", "--key", "elsewhere.key"],
            "does it want a certificate that it trusts?",
        ),
    ],
)
@pytest.mark.parametrize("command", ["call", "cluster", "place", "proxy"])
def test_what_fails_is_said(
    command: str,
    place: str,
    options: list[str],
    message: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    where = request.getfixturevalue(place)
    if command == "proxy" and options == ["PLAINTEXT"]:
        pytest.skip("what the client and the broker do is theirs")
    arguments = {"call": [where, "Metadata"], "proxy": ["127.0.0.1:0", where]}.get(command, [where])
    assert main([command, *arguments, "--security-protocol", *options]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert where in printed.err
    lines = [line for line in printed.err.splitlines() if "0 messages" not in line]
    assert len(lines) == 2  # the second one is a hint
    for secret in (PASSWORD, "something-else"):
        assert secret not in printed.err + printed.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sasl-username", "a"], "SASL takes --security-protocol SASL_SSL"),
        (["--security-protocol", "SSL", *SASL], "SASL takes --security-protocol SASL_SSL"),
        (["--ca", "server.crt"], "take --security-protocol SSL or SASL_SSL"),
        (["--security-protocol", "SSL", "--key", "client.key"], "add --cert"),
        (["--security-protocol", "SASL_SSL"], "SASL_SSL needs --sasl-username"),
        (
            ["--security-protocol", "SASL_SSL", "--sasl-username", "a"],
            "--sasl-password-file FILE, or KWIRE_SASL_PASSWORD",
        ),
        (
            ["--security-protocol", "SASL_SSL", *SASL, "--sasl-mechanism", "GSSAPI"],
            "there is no SASL mechanism 'GSSAPI'",
        ),
        (
            ["--security-protocol", "SASL_SSL", "--sasl-username", "a", "--sasl-password-file", "empty"],
            "first line is empty",
        ),
        (["--security-protocol", "SASL_SSL", "--sasl-username", "a", "--sasl-password-file", "none"], "No such file"),
        (["--security-protocol", "SSL", "--ca", "garbage"], "garbage: no certificate"),
        (["--security-protocol", "SSL", "--cert", "client.crt", "--key", "server.key"], "no certificate with its key"),
        (["--security-protocol", "SSL", "--ca", "missing.pem"], "missing.pem"),
        (["--security-protocol", "SSL", "--cert", "missing.crt"], "missing.crt"),
        (["--security-protocol", "SSL", "--cert", "client.crt", "--key", "missing.key"], "missing.key"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["call", "127.0.0.1:1", "Metadata", *options]) == 2
    assert message in capsys.readouterr().err


def test_a_dump_takes_no_security(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["cluster", "dump.bin"], ["place", "dump.bin"], ["call", ":1", "Metadata", "--offline"]):
        assert main([*command, "--security-protocol", "SSL"]) == 2
        assert "TLS and SASL are for a live broker" in capsys.readouterr().err


def test_an_unknown_mechanism_is_refused_where_sasl_is_used() -> None:
    with pytest.raises(ValueError, match="there is no SASL mechanism 'GSSAPI' here; there are PLAIN, "):
        Security("SASL_PLAINTEXT", "GSSAPI", "alice", "wonder")
    assert Security("PLAINTEXT", "GSSAPI").mechanism == "GSSAPI"


def test_a_session_is_renewed_before_it_ends() -> None:
    """KIP-368: the broker closes connections whose session has ended."""
    with Kafka(users={"alice": PASSWORD}, max_reauth=4.0) as kafka:
        security = Security("SASL_PLAINTEXT", "SCRAM-SHA-256", "alice", PASSWORD)
        with BrokerConnection(address(kafka.bootstrap_servers), timeout=180, security=security) as broker:
            kafka.advance(100)  # behind the end of the session
            broker._session_ends = 0.0
            assert set(broker.versions()) >= {0, 1, 3}
            assert broker.newest("MetadataRequest") is not None
        names = [one.api_name for one in kafka.frames(api="SaslHandshake") if hasattr(one, "api_name")]
    assert len(names) == 4  # two exchanges, each with a request and a response


def rfc_7677() -> SaslClientExchange:
    """The example of RFC 7677, section 3."""
    return SaslClientExchange("SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")


CHALLENGE = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"


def test_tokens_are_those_of_the_rfc() -> None:
    exchange = rfc_7677()
    assert exchange.begin() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    final = exchange.proceed(CHALLENGE.encode())
    assert final is not None
    nonce = CHALLENGE[2:].partition(",")[0]
    assert final.decode() == f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert exchange.proceed(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ((b"i=4096", b"i=4095"), "4095 iterations"),
        ((b"i=4096", b"i=999999999"), "999999999 iterations"),
        ((b"r=rOpr", b"r=xOpr"), "not a challenge"),
        ((b"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", b""), "not a challenge"),
        ((b"s=W22ZaJ0SNY7soEsUEjb6gQ==", b"s=W"), "not Base64"),
    ],
)
def test_a_broker_that_is_no_server_of_scram_is_refused(changed: tuple[bytes, bytes], message: str) -> None:
    exchange = rfc_7677()
    exchange.begin()
    with pytest.raises(AuthenticationFailed, match=message):
        exchange.proceed(CHALLENGE.encode().replace(*changed))


def test_a_broker_that_does_not_have_the_password_is_refused() -> None:
    exchange = rfc_7677()
    exchange.begin()
    exchange.proceed(CHALLENGE.encode())
    assert b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(AuthenticationFailed, match="signature"):
        exchange.proceed(b"v=AAAATRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


class Clock:
    """The clock of a proxy's sessions."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


ALICE = Security("SASL_PLAINTEXT", "SCRAM-SHA-256", "alice", PASSWORD)


def sessions(kafka: Kafka) -> int:
    return sum(isinstance(one, kwire.Request) for one in kafka.frames(api="SaslHandshake"))


def test_the_proxy_renews_sessions_between_requests_of_its_clients(tmp_path: Path) -> None:
    """KIP-368: the broker closes connections whose session has ended."""
    clock, dump, counts = Clock(), tmp_path / "dump.pcap", []
    with Kafka(users={"alice": PASSWORD}, max_reauth=60.0) as kafka, dump.open("wb") as file:

        def use(place: Address) -> None:
            with BrokerConnection(place, timeout=180) as client:
                for seconds in (0, 40, 20, 100):  # 48 is the time of a renewal
                    clock.now += seconds
                    kafka.advance(seconds)
                    assert set(client.versions()) >= {0, 1, 3}
                    counts.append(sessions(kafka))
                pipelined(client, 20)
                clock.now += 50
                pipelined(client, 20)
                counts.append(sessions(kafka))

        _, shown = through(kafka.bootstrap_servers, use, security=ALICE, clock=clock, recorder=PcapWriter(file))
    assert counts == [2, 2, 3, 4, 5]  # the first is of the look before the proxy listens
    passed = [one.api_name for one in shown]
    assert len(passed) == 2 * (4 + 40)
    assert set(passed) == {"ApiVersions"}
    assert [getattr(one, "api_name", "") for one in kwire.decode_frames(kwire.read_dump(str(dump)))] == passed


def pipelined(client: BrokerConnection, count: int) -> None:
    """Send requests at once; their responses come in the same order."""
    wire = client._wire
    client._socket.settimeout(180)
    client._socket.sendall(b"".join(wire.send(kwire.messages.ApiVersionsRequest(), 0) for _ in range(count)))
    responses: list[kwire.Response] = []
    while len(responses) < count:
        responses += wire.receive(client._socket.recv(1 << 16))
    assert [response.correlation_id for response in responses] == list(range(wire._sent - count + 1, wire._sent + 1))


def test_a_session_that_is_not_renewed_ends_the_connection_with_a_note() -> None:
    clock, notes = Clock(), list[str]()
    with Kafka(users={"alice": PASSWORD}, max_reauth=60.0) as kafka:

        def use(place: Address) -> None:
            with BrokerConnection(place, timeout=180) as client:
                client.versions()
                clock.now += 50
                kafka.on("SaslHandshake").drop()
                with pytest.raises(CallError):
                    client.versions()

        through(kafka.bootstrap_servers, use, security=ALICE, clock=clock, note=notes.append)
        (note,) = notes
        assert note.startswith(f"a session was not renewed: {kafka.bootstrap_servers}: it closed the connection")
