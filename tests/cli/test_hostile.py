"""Every command that connects to a broker, beside every kind of hostile broker: it ends in time, with one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kwire.cli.cluster import apply_plan
from kwire.cli.main import main
from kwire.testing import HostileBroker, Kafka
from kwire.testing.hostile import BROKER_KINDS, CLIENT_KINDS

TIMEOUT = 0.3  # seconds
PLAN = '{"version": 1, "partitions": [{"topic": "made", "partition": 0, "replicas": [1]}]}'
# Kinds that differ in what ends a command: the deadline, the size, the body, the hosts, the number of brokers.
SAMPLE = ("drip:Metadata", "huge", "garbage", "bad-host:Metadata", "many-brokers")
ALL = [kind + api for kind in BROKER_KINDS for api in ("", ":Metadata")]
KINDS = [pytest.param(kind, marks=() if kind in SAMPLE else pytest.mark.ci) for kind in ALL]
COMMANDS: dict[str, list[str]] = {
    "call": ["call", "{}", "Metadata", "topics:=null"],
    "call, one version": ["call", "{}", "FindCoordinator:2", "key=g"],
    "cluster": ["cluster", "{}"],
    "place": ["place", "{}", "--partitions", "3", "--rf", "1"],
    "place --apply": ["place", "{}", "--plan", "PLAN", "--apply", "--throttle", "1000"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_ends_in_time_with_one_line(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_plan, "PAUSE", 0.01)
    (tmp_path / "plan.json").write_text(PLAN)
    with HostileBroker(kind, brokers=2, seed=1) as broker:
        where = broker.bootstrap_servers.split(",")[0]
        for name, command in COMMANDS.items():
            words = [str(tmp_path / "plan.json") if word == "PLAN" else word.format(where) for word in command]
            code = main([*words, "--timeout", str(TIMEOUT)])
            captured = capsys.readouterr()
            assert code in (0, 1, 2), name
            assert "Traceback" not in captured.err, name
            errors = captured.err.count("kwire: error:")
            assert errors == 1 if code == 2 else errors <= 1, (name, captured)
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202e]", captured.out + captured.err), name


@pytest.mark.parametrize("kind", ["counts", "half-frame", "flood", "new-version"])
def test_a_broker_goes_on_serving(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka() as kafka:
        assert (
            main(["call", kafka.bootstrap_servers, "--hostile", kind, "--timeout", "5" if kind == "counts" else "0.5"])
            == 0
        )
    out = capsys.readouterr().out
    assert out.startswith(kind)
    assert out.endswith("; serves others\n")


@pytest.mark.ci
def test_a_broker_goes_on_serving_beside_all_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka() as kafka:
        assert main(["call", kafka.bootstrap_servers, "--hostile", "all", "--timeout", "0.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(CLIENT_KINDS)
    assert all(line.endswith("; serves others") for line in lines)


def test_a_broker_that_stops_serving_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with HostileBroker("silent:Metadata") as broker:  # it answers ApiVersions, and keeps what is not served open
        assert main(["call", broker.bootstrap_servers, "--hostile", "idle", "--timeout", "0.2"]) == 0
    with HostileBroker("silent") as broker:
        assert main(["call", broker.bootstrap_servers, "--hostile", "idle", "--timeout", "0.2"]) == 2
    assert "no answer in time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["call", "b:1", "--hostile", "idle"], "attack only your own test systems"),
        (["call", ":1", "--hostile", "nonsense"], "there is no hostile client 'nonsense'"),
        (["call", ":1", "Metadata", "--hostile", "idle"], "takes the address of a broker of your own, and no api"),
        (["serve", ":0", "--hostile", "drop"], "there is no hostile broker 'drop'; did you mean drip?"),
        (["serve", ":0", "--hostile", "drip:Metadatum"], "there is no api 'Metadatum'; did you mean Metadata?"),
        (["serve", ":0", "--hostile", "drip", "--read-only", "--data", "."], "give only LISTEN and --brokers"),
    ],
)
def test_what_cannot_be_asked_for(command: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(("command", "count"), [("serve", len(BROKER_KINDS)), ("call", len(CLIENT_KINDS))])
def test_the_kinds_are_listed(command: str, count: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--hostile", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 * count
    assert max(map(len, lines)) <= 80
