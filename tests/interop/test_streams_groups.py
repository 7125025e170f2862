"""Kafka Streams counts words exactly once in a streams group (KIP-1071) of kwire's brokers, while processes die."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.cluster.consumer_groups.tracker import GroupTracker
from kwire.testing import Kafka
from tests.interop.kafka import JVM, maven_jars, need
from tests.seeds import seeded

PROGRAM = str(Path(__file__).with_name("Words.java"))
WORDS = "when the last of them had gone it was so still that one could see how far away they were".split()
PATIENCE = 60.0  # seconds
SESSION = 46.0  # seconds after which a member is gone that sends nothing
PARTITIONS = 3
M = kwire.messages


def command(release: str, *arguments: str) -> list[str]:
    folder = Path("kwire-kafka-streams", release)
    path = ":".join(maven_jars(folder, ("org.apache.kafka", "kafka-streams", release, "")))
    return ["java", *JVM, "-cp", path, PROGRAM, *arguments]


@contextmanager
def counting(release: str, kafka: Kafka, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that counts words."""
    arguments = command(release, "run", kafka.bootstrap_servers, str(folder), "streams")
    folder.mkdir()
    with (folder / "log").open("w") as log, subprocess.Popen(arguments, stdout=log, stderr=log, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def is_running(folder: Path) -> bool:
    return "RUNNING" in (folder / "log").read_text().split()


def feed(kafka: Kafka, rng: Random, count: int) -> int:
    """Produce lines of words; return how many words there are."""
    for number in range(count):
        line = " ".join(rng.choice(WORDS) for _ in range(10))
        kafka.produce("lines", line.encode(), partition=number % PARTITIONS)
    return 10 * count


def configure(kafka: Kafka, name: str, value: str) -> None:
    request = M.IncrementalAlterConfigsRequest
    config = request.AlterableConfig(name=name, config_operation=0, value=value)
    row = request.AlterConfigsResource(resource_type=32, resource_name="words", configs=(config,))
    with BrokerConnection(address(kafka.address(1)), timeout=PATIENCE) as broker:
        broker.ask(kwire.codec("IncrementalAlterConfigsRequest", 1), request(resources=(row,)))


@pytest.mark.ci
@pytest.mark.parametrize("release", ["4.1.0", "4.4.0"])
def test_every_word_is_counted_once(release: str, tmp_path: Path) -> None:
    need("java", "mvn")
    rng = seeded(f"streams {release}")
    topics = {"lines": PARTITIONS, "counts": PARTITIONS}
    with Kafka(brokers=3, topics=topics, directory=tmp_path / "data") as kafka:
        configure(kafka, "streams.num.standby.replicas", "1")
        words = feed(kafka, rng, 100)
        folders = [tmp_path / name for name in "abc"]
        with counting(release, kafka, folders[0]) as first, counting(release, kafka, folders[1]):
            kafka.wait_for(lambda: all(map(is_running, folders[:2])), PATIENCE)
            words += feed(kafka, rng, 100)
            # 1. A process dies; another one starts.
            first.kill()
            first.wait()
            words += feed(kafka, rng, 50)
            kafka.advance(SESSION)
            with counting(release, kafka, folders[2]):
                kafka.wait_for(lambda: is_running(folders[2]), PATIENCE)
                # 2. The coordinator stops; another broker goes on.
                coordinator = kafka.coordinator("words")
                kafka.stop_broker(coordinator)
                words += feed(kafka, rng, 50)
                kafka.start_broker(coordinator)
                kafka.wait_group("words", "Stable", PATIENCE)
                words += feed(kafka, rng, 50)
                check = command(release, "check", kafka.bootstrap_servers, str(words))
                done = subprocess.run(check, capture_output=True, text=True, timeout=PATIENCE)
                groups = GroupTracker()
                for frame in kafka.frames():
                    groups.apply(frame)
    logs = [(folder / "log").read_text()[-3000:] for folder in folders]
    assert done.stdout.splitlines() == [
        f"seen {words} wrong 0",
        "group words Streams Stable",
        "members 4 active {0=3, 1=3} standby {1=3}",
    ], (done.stderr[-2000:], logs)
    # 3. What the clients sent shows the same group.
    group = groups.groups["words"]
    tasks = [str(task) for member in group.members.values() for task in member.tasks or () if task.role == "active"]
    assert (group.protocol, len(group.members), sorted(tasks)) == (
        "streams",
        4,
        ["0_0", "0_1", "0_2", "1_0", "1_1", "1_2"],
    )
