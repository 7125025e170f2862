"""Java's clients under lawful chaos: records are copied exactly once, whatever the brokers' answers are in between."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kwire.testing import Kafka
from tests.interop.kafka import JVM, jars, need
from tests.seeds import seeded

PROGRAM = str(Path(__file__).with_name("Exactly.java"))
COUNT = 1500
EXPECTED = [f"produced {COUNT} records, read {COUNT} times", f"copied {COUNT} records, read {COUNT} times", "fatal []"]
# Members that die may fail to leave their group: Java does not repeat that, and brokers wait for the session's end.
CONFIGS = {"group.consumer.session.timeout.ms": "8000", "group.consumer.min.session.timeout.ms": "8000"}
LEAST_DISTURBANCES = 50


@pytest.mark.parametrize("process", [False, True])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_records_are_copied_exactly_once_under_chaos(protocol: str, process: bool) -> None:
    need("java", "mvn")
    rng = seeded(f"java chaos {protocol} {process}")
    seed, release = rng.randrange(10**6), rng.choice(("4.1.0", "4.4.0"))
    topics = {"source": 3, "target": 3}
    with Kafka(brokers=3, topics=topics, chaos=seed, configs=CONFIGS, process=process) as kafka:
        command = ["java", *JVM, "-cp", jars(release), PROGRAM, kafka.bootstrap_servers, *topics, protocol, str(COUNT)]
        done = subprocess.run(command, timeout=300, capture_output=True, text=True)
        disturbances = kafka.disturbances()
    printed = [line for line in done.stdout.splitlines() if line.startswith(("produced ", "copied ", "fatal "))]
    assert printed == EXPECTED, f"chaos={seed}, clients of {release}\n{done.stdout}{done.stderr[-20_000:]}"
    assert len(disturbances) >= LEAST_DISTURBANCES
