"""Clients that people use, unmodified, at `kwire serve`: every record comes out once, whichever members come and go."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import kwire
from kwire.client.address import Address
from kwire.client.connection import BrokerConnection
from kwire.testing import Kafka
from tests.conftest import ROOT
from tests.interop import group_migration_steps
from tests.interop.clients import KAFKA_PYTHON, PATIENCE, Reader, need_client, served, until, until_stable
from tests.interop.kafka import JVM, RELEASES, jars, java, need, real_cluster
from tests.interop.transaction_steps import Steps

COUNT = 100_000
RECORDED = ROOT / "tests/data/group-migration-kafka-4.1.0.txt"
RELEASE, TOOLS = RELEASES[0], "org.apache.kafka.tools.consumer"
Command = Callable[[str], list[str]]  # for an address


def feed(command: Sequence[str], lines: Sequence[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    subprocess.run(command, input=text.encode(), check=True, timeout=PATIENCE)


def share(places: list[Address], producer: Command, consumer: Command, folder: Path) -> None:
    """Produce while consumers of the group `g` come and go; then let another one resume where they ended."""
    lines = [f"record {number}" for number in range(COUNT)]
    write, read = producer(str(places[0])), consumer(str(places[-1]))
    feed(write, lines[:40_000])
    with Reader(read, folder / "first") as first, Reader(read, folder / "second") as second:
        feed(write, lines[40_000:60_000])
        until_stable(places, "g", 2)
        feed(write, lines[60_000:80_000])
        until(lambda: second.lines() and len(first.lines()) + len(second.lines()) == 80_000)
        second.stop()  # amid records kcat would drop one that it has already counted as read
        feed(write, lines[80_000:])
        until_stable(places, "g", 1)
        until(lambda: len(first.lines()) + len(second.lines()) >= COUNT)
        found = [first.stop(), second.lines()]
    assert sorted(found[0] + found[1]) == sorted(lines)
    until_stable(places, "g", 0)
    with Reader(read, folder / "third") as third:
        until_stable(places, "g", 1)
        feed(write, ["more 1", "more 2"])
        until(lambda: len(third.lines()) >= 2)
        assert sorted(third.stop()) == ["more 1", "more 2"]


@pytest.fixture
def places(tmp_path: Path) -> Iterator[list[Address]]:
    """Two brokers, where a topic has six partitions with two replicas each."""
    with served(tmp_path, "--brokers", "2", "--partitions", "6", "--replication-factor", "2") as places:
        yield places


@pytest.mark.parametrize("options", [[], ["-X", "partition.assignment.strategy=cooperative-sticky"]])
def test_kcat(places: list[Address], tmp_path: Path, options: list[str]) -> None:
    need_client("kcat")
    evenly = ["-X", "sticky.partitioning.linger.ms=0"]  # else one partition may get all records
    options = [*options, "-u", "-X", "auto.offset.reset=earliest", "-X", "heartbeat.interval.ms=500"]

    def producer(place: str) -> list[str]:
        return ["kcat", "-b", place, *evenly, "-t", "t", "-P"]

    def consumer(place: str) -> list[str]:
        return ["kcat", "-b", place, *options, "-G", "g", "t"]

    share(places, producer, consumer, tmp_path)


def test_kafka_python(places: list[Address], tmp_path: Path) -> None:
    need_client("kafka-python")

    def producer(place: str) -> list[str]:
        return [*KAFKA_PYTHON, "produce", place, "t"]

    def consumer(place: str) -> list[str]:
        return [*KAFKA_PYTHON, "consume", place, "t", "g"]

    share(places, producer, consumer, tmp_path)


def test_java(places: list[Address], tmp_path: Path) -> None:
    need("java", "mvn")
    command = ["java", *JVM, "-cp", jars(RELEASE)]
    reading = ["--topic", "t", "--group", "g", "--from-beginning", "--consumer-property", "heartbeat.interval.ms=500"]

    def producer(place: str) -> list[str]:
        return [*command, "kafka.tools.ConsoleProducer", "--bootstrap-server", place, "--topic", "t"]

    def consumer(place: str) -> list[str]:
        return [*command, f"{TOOLS}.ConsoleConsumer", "--bootstrap-server", place, *reading]

    share(places, producer, consumer, tmp_path)


def test_java_consumers_of_both_protocols_in_one_group(places: list[Address], tmp_path: Path) -> None:
    """A rolling upgrade, and back: a classic consumer, one of KIP-848 joins, and leaves."""
    need("java", "mvn")
    command = ["java", *JVM, "-cp", jars("4.1.0")]
    write = [*command, "org.apache.kafka.tools.ConsoleProducer", "--bootstrap-server", str(places[0]), "--topic", "t"]
    write += ["--property", "parse.key=true", "--property", "key.separator=|"]  # else one partition may get all records
    read = [*command, f"{TOOLS}.ConsoleConsumer", "--bootstrap-server", str(places[0])]
    read += ["--topic", "t", "--group", "g", "--from-beginning", "--consumer-property"]
    lines = [f"record {number}" for number in range(3000)]
    keyed = [f"{number}|{line}" for number, line in enumerate(lines)]
    feed(write, keyed[:1000])
    with Reader([*read, "group.protocol=classic"], tmp_path / "old") as old:
        until(lambda: len(old.lines()) == 1000)
        with Reader([*read, "group.protocol=consumer"], tmp_path / "new") as new:
            until(lambda: protocols_of(places) == [0, 1])
            feed(write, keyed[1000:2000])
            until(lambda: new.lines() and len(old.lines()) + len(new.lines()) == 2000)
            found = new.stop()
        until_stable(places, "g", 1)
        feed(write, keyed[2000:])
        until(lambda: len(old.lines()) + len(found) >= 3000)
        assert sorted(old.stop() + found) == sorted(lines)


def protocols_of(places: Sequence[Address]) -> list[int]:
    """Return the types of the members of a group whose broker assigns, once each has three partitions."""
    names = kwire.messages
    for place in places:
        with BrokerConnection(place, timeout=PATIENCE) as broker:
            asked = names.ConsumerGroupDescribeRequest(group_ids=("g",))
            answer = broker.ask(kwire.codec("ConsumerGroupDescribeRequest", 1), asked)
        assert answer is not None
        members = answer.message.groups[0].members
        if members:
            counts = [sum(len(row.partitions) for row in one.assignment.topic_partitions) for one in members]
            return sorted(one.member_type for one in members) if counts == [3, 3] else []
    return []


def test_kafka_changes_a_groups_protocol_as_it_was_recorded(tmp_path: Path) -> None:
    need("java", "mvn")
    with real_cluster("4.1.0", tmp_path, 1, "a") as facts:
        assert group_migration_steps.lines(facts["bootstrap"]) == RECORDED.read_text("utf-8").splitlines()


def test_kafkas_own_tool_for_groups(places: list[Address], tmp_path: Path) -> None:
    need("java", "mvn")
    need_client("kcat")
    server = ["--bootstrap-server", str(places[0])]

    def ask(*arguments: str) -> str:
        return java(RELEASE, f"{TOOLS}.group.ConsumerGroupCommand", *server, *arguments)

    def described(column: int) -> list[str]:
        rows = (line.split() for line in ask("--describe", "--group", "g").splitlines() if line.startswith("g "))
        return [row[column] for row in sorted(rows)]

    feed(["kcat", "-b", str(places[0]), "-X", "sticky.partitioning.linger.ms=0", "-t", "t", "-P"], ["line"] * 1000)
    reads = ["kcat", "-b", str(places[0]), "-X", "auto.offset.reset=earliest", "-e", "-G", "g", "t"]
    subprocess.run(reads, check=True, timeout=PATIENCE, capture_output=True)
    until_stable(places, "g", 0)
    assert (described(2), described(5)) == (list("012345"), ["0"] * 6)  # partitions, and how far behind
    ask("--reset-offsets", "--to-earliest", "--topic", "t", "--group", "g", "--execute")
    assert (described(3), sum(map(int, described(5)))) == (["0"] * 6, 1000)
    assert ask("--list", "--state").split() == ["GROUP", "STATE", "g", "Empty"]
    assert "was successful" in ask("--delete", "--group", "g")
    assert ask("--list").split() == []


def test_kafkas_tools_read_the_internal_topics(tmp_path: Path) -> None:
    need("java", "mvn")
    with Kafka(directory=tmp_path, topics=["t"]) as kafka:
        kafka.produce("t", b"a")
        steps = Steps(kafka.bootstrap_servers, lambda seconds: None)
        steps.begin()
        made = steps.init()
        who = made.producer_id, made.producer_epoch
        assert (steps.add_offsets(*who), steps.commit_offset(*who, 5), steps.end(*who, True)[0]) == (0, 0, 0)
        for connection in steps.connections.values():
            connection.close()

    def dumped(topic: str, decoder: str) -> str:
        found = (str(one) for one in tmp_path.glob(f"broker-1/0/{topic}-*/*.log") if one.stat().st_size)
        return java("4.1.0", "kafka.tools.DumpLogSegments", "--files", ",".join(found), "--print-data-log", decoder)

    offsets = dumped("__consumer_offsets", "--offsets-decoder")
    assert '"data":{"offset":5,' in offsets
    assert "endTxnMarker: COMMIT" in offsets
    states = dumped("__transaction_state", "--transaction-log-decoder")
    assert [int(one) for one in re.findall(r'"transactionStatus":(\d)', states)] == [0, 1, 2, 4]
