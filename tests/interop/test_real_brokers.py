"""`kwire call`, `kwire cluster` and `kwire proxy` against real brokers: Kafka 3.9 with ZooKeeper, and 4.4 with KRaft.
What is served here answers admin requests with the error codes that they answer with."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.cli.main import main
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from kwire.schema.catalog import catalog_for
from kwire.values import ErrorCode
from tests.broker.apis.topics.test_topics import row
from tests.broker.served import cluster_of
from tests.cli.commands.call_examples import run_all
from tests.cli.test_commands import out
from tests.conftest import ROOT
from tests.interop.kafka import RELEASES, kafka_down, need, real_cluster

M = kwire.messages
COUNT = 2000


class Real:
    """A real cluster of three brokers, of which 1 and 3 are in rack a."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.folder = Path(facts["dir"])
        self.places = [f"127.0.0.1:{one['port']}" for one in facts["brokers"]]
        self.is_kraft = facts["mode"] == "kraft"

    def ask(self, name: str, version: int, message: Any) -> Any:
        with BrokerConnection(address(self.places[0]), timeout=180) as broker:
            answer = broker.ask(kwire.codec(name, version), message)
        assert answer is not None
        return answer.message


@pytest.fixture(scope="module", params=RELEASES)
def real(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    need("java", "mvn", "kcat")
    folder = tmp_path_factory.mktemp(f"kafka-{request.param}")
    with real_cluster(request.param, folder, 3, "a,b") as facts:
        made = Real(facts)
        rows = [row("shown", assignment=[(0, (1, 3)), (1, (2, 3))]), row("there.is", 1, 2)]
        answer = made.ask("CreateTopicsRequest", 5, M.CreateTopicsRequest(topics=rows, timeout_ms=20_000))
        assert [one.error_code for one in answer.topics] == [0, 0]
        until(lambda: "with offline replicas: 0" in cluster(made, "shown"))
        yield made


def until(condition: Any) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)


def cluster(real: Real, topic: str) -> str:
    """What `kwire cluster` says; nothing while the broker does not know the topic."""
    command = [sys.executable, "-m", "kwire", "cluster", real.places[0], "--topic", topic]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout


def test_a_cluster_is_shown_with_its_racks(real: Real, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(out(capsys, "cluster", real.places[1], "--topic", "shown", "--json"))
    assert sorted((one["nodeId"], one["rack"]) for one in found["brokers"]) == [(1, "a"), (2, "b"), (3, "a")]
    assert [(one["replicas"], one["rackViolation"]) for one in found["partitions"]] == [([1, 3], True), ([2, 3], False)]
    assert "with rack violations: 1: shown-0" in cluster(real, "shown")


def test_calls_in_every_version_of_reading_apis(real: Real, capsys: pytest.CaptureFixture[str]) -> None:
    with BrokerConnection(address(real.places[0]), timeout=180) as broker:
        spoken = broker.versions()
    for api, members in {
        "ApiVersions": [],
        "Metadata": ['topics:=[{"name": "shown"}]', "allowAutoTopicCreation:=false"],
        "FindCoordinator": ["key=g"],
        "DescribeCluster": [],
        "DescribeConfigs": ['resources:=[{"resourceType": 2, "resourceName": "shown"}]'],
        "DescribeLogDirs": ["topics:=null"],
        "ListOffsets": ['topics:=[{"name": "shown", "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]'],
        "ListGroups": [],
    }.items():
        spec = catalog_for().spec(f"{api}Request")
        for version in (one for one in spoken[spec.api_key or 0] if one in spec.versions):
            given = list(members)
            if api == "FindCoordinator" and version >= 4:
                given = ['coordinatorKeys:=["g"]']
            if api == "Metadata" and version < 4:
                given = ["topics:=[]"]
            main(["call", real.places[0], f"{api}:{version}", *given, "--json"])
            answer = json.loads(capsys.readouterr().out)
            assert (answer["header"]["apiName"], answer["header"]["apiVersion"]) == (api, version)


def test_the_examples_of_kwire_call(real: Real, capsys: pytest.CaptureFixture[str]) -> None:
    run_all(address(real.places[0]), capsys)


@pytest.mark.parametrize("name", ["", "-", "kwire tests"])
def test_software_without_a_name_is_refused_here_and_there(real: Real, name: str) -> None:
    request = M.ApiVersionsRequest(client_software_name=name, client_software_version="1")
    theirs = real.ask("ApiVersionsRequest", 3, request)
    ours = cluster_of().answer(1, request, 3, now=0.0)
    assert theirs.error_code == ours.error_code == ErrorCode.INVALID_REQUEST
    assert theirs.api_keys == ours.api_keys == ()


def test_a_call_that_changes_something_needs_a_yes(real: Real, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "call",
        real.places[0],
        "CreateTopics:5",
        'topics:=[{"name": "called", "numPartitions": 3, "replicationFactor": 2}]',
    ]
    assert main(asked) == 2
    assert "use --yes to allow this" in capsys.readouterr().err
    assert json.loads(out(capsys, *asked, "--yes", "--json"))["payload"]["topics"][0]["numPartitions"] == 3
    until(lambda: "called  2" in cluster(real, "called"))
    assert (
        main(["call", real.places[0], "Metadata:12", 'topics:=[{"name": "no"}]', "allowAutoTopicCreation:=false"]) == 1
    )
    assert "UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().out


def test_a_proxy_between_kcat_and_brokers(real: Real, tmp_path: Path) -> None:
    lines = [f"record {number}" for number in range(COUNT)]
    command = [sys.executable, "-m", "kwire", "proxy", ":0", real.places[0], "-q", "-w", str(tmp_path / "seen.pcap")]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as proxy:
        try:
            assert proxy.stderr
            place = re.findall(r"127\.0\.0\.1:\d+", proxy.stderr.readline())[0]
            kcat = ["kcat", "-b", place, "-t", "shown", "-q"]
            produce = [*kcat, "-P", "-X", "acks=all", "-X", "enable.idempotence=true"]
            subprocess.run(produce, check=True, timeout=120, input="\n".join(lines) + "\n", text=True)
            consume = [*kcat, "-C", "-o", "beginning", "-e"]
            read = subprocess.run(consume, check=True, timeout=120, capture_output=True, text=True).stdout.splitlines()
            listed = subprocess.run([*kcat, "-L"], check=True, timeout=120, capture_output=True, text=True).stdout
        finally:
            proxy.send_signal(signal.SIGINT)
            proxy.wait(60)
    assert sorted(read) == sorted(lines)
    assert not set(re.findall(r" at (127\.0\.0\.1:\d+)", listed)) & set(real.places)
    frames = list(kwire.decode_frames(kwire.read_dump(tmp_path / "seen.pcap")))
    assert {one.api_name for one in frames if isinstance(one, kwire.Request)} >= {"Produce", "Fetch", "InitProducerId"}
    assert not [one for one in frames if isinstance(one, kwire.Undecodable)]


WRONG = {
    "name": row("../t"),
    "reserved": row("__cluster_metadata"),
    "there": row("there.is"),
    "collides": row("there_is"),
    "empty": row(""),
    "no partitions": row(partitions=0),
    "fewer partitions": row(partitions=-2),
    "no replicas": row(replicas=0),
    "many replicas": row(replicas=9),
    "both": row(partitions=1, assignment=[(0, (1,))]),
    "not from 0": row(assignment=[(1, (1,))]),
    "factors differ": row(assignment=[(0, (1,)), (1, (1, 2))]),
    "broker twice": row(assignment=[(0, (1, 1))]),
    "unknown broker": row(assignment=[(0, (9,))]),
    "config value": row(retention_bytes="many"),
    "config name": row(no_such="1"),
    "null config": row(retention_ms=None),
    "good": row("good", 1, 1),
}
# Kafka 3.9 takes brokers that it does not know when a topic is only validated.
TAKEN_BY_3_9 = {"unknown broker"}


@pytest.mark.parametrize("case", WRONG)
def test_topics_are_refused_with_kafkas_codes(real: Real, case: str) -> None:
    request = M.CreateTopicsRequest(topics=(WRONG[case],), timeout_ms=20_000, validate_only=True)
    here = cluster_of(3)
    here.controller.create("there.is", {0: [1, 2]})
    ours = here.answer(1, request, 5, now=0.0).topics[0].error_code
    theirs = real.ask("CreateTopicsRequest", 5, request).topics[0].error_code
    if real.is_kraft or case not in TAKEN_BY_3_9:
        assert ErrorCode(ours) == ErrorCode(theirs)


def test_partitions_are_refused_with_kafkas_codes(real: Real) -> None:
    request = M.CreatePartitionsRequest
    here = cluster_of(3)
    here.controller.create("there.is", {0: [1, 2]})
    for name, count, given in (
        ("no", 2, ()),
        ("there.is", 1, ()),
        ("there.is", 0, ()),
        ("there.is", 3, ((1, 2),)),
        ("there.is", 2, ((1,),)),
        ("there.is", 2, ((1, 1),)),
        ("there.is", 2, ((1, 9),)),
        ("there.is", 2, ((2, 1),)),
        ("there.is", 2, ()),
    ):
        rows = tuple(request.CreatePartitionsAssignment(broker_ids=ids) for ids in given) or None
        topic = request.CreatePartitionsTopic(name=name, count=count, assignments=rows)
        asked = request(topics=(topic,), timeout_ms=20_000, validate_only=True)
        ours = here.answer(1, asked, 1, now=0.0).results[0].error_code
        theirs = real.ask("CreatePartitionsRequest", 1, asked).results[0].error_code
        assert ErrorCode(ours) == ErrorCode(theirs), (name, count, given)


def test_configs_are_altered_or_refused_with_kafkas_codes(real: Real) -> None:
    request = M.IncrementalAlterConfigsRequest
    here = cluster_of(3)
    here.controller.create("there.is", {0: [1, 2]})
    for name, changes in (
        ("there.is", [("flush.ms", 0, "5"), ("cleanup.policy", 2, "compact")]),
        ("there.is", [("flush.ms", 1, None)]),
        ("there.is", [("flush.ms", 0, "soon")]),
        ("there.is", [("flush.ms", 0, None)]),
        ("there.is", [("flush.ms", 2, "5")]),
        ("there.is", [("no.such", 0, "5")]),
        ("there.is", [("flush.ms", 0, "5"), ("flush.ms", 0, "6")]),
        ("no", [("flush.ms", 0, "5")]),
    ):
        rows = tuple(request.AlterableConfig(name=a, config_operation=b, value=c) for a, b, c in changes)
        resource = request.AlterConfigsResource(resource_type=2, resource_name=name, configs=rows)
        asked = request(resources=(resource,), validate_only=True)
        ours = here.answer(1, asked, 1, now=0.0).responses[0].error_code
        theirs = real.ask("IncrementalAlterConfigsRequest", 1, asked).responses[0].error_code
        assert ErrorCode(ours) == ErrorCode(theirs), (name, changes)


def test_a_broker_that_is_gone(real: Real) -> None:  # the last one: the broker stays away
    kafka_down(real.folder, "--broker", "3", "--kill")
    until(lambda: "with offline replicas: 2: shown-0, shown-1" in cluster(real, "shown"))
    text = cluster(real, "shown")
    assert "under-replicated: 2: shown-0, shown-1" in text
    assert ("fenced" in text) == real.is_kraft  # DescribeCluster says it there
    assert "with rack violations: " + ("1: shown-0" if real.is_kraft else "0") in text
    with pytest.raises(CallError):
        BrokerConnection(address(real.places[2]), timeout=5)
