"""Java's share consumer and admin client at brokers made with kwire, and Kafka's tool reads the state they leave."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kwire.testing import Kafka
from tests.interop import dead_letter_steps, share_acquire_steps
from tests.interop.kafka import java, need, real_cluster

PROGRAM = str(Path(__file__).with_name("Shared.java"))
# What Kafka 4.4.0 answers to the program; in all it has 20 records, of which some are released or rejected.
SEEN = """\
seen {v0=1, v1=1, v10=1, v11=1, v12=2, v13=1, v14=1, v15=1, v16=1, v17=2, v18=1, v19=1, v2=2, v3=5, v4=1, v5=1, v6=1, \
v7=2, v8=1, v9=1}
errors []
group Empty 0
listed Share Empty
partition 0
altered with members GroupNotEmptyException
again [v15, v16, v17, v18, v19]
deleted GroupIdNotFoundException
"""
BY_4_1 = {"GroupNotEmptyException": "done"}  # that client takes no notice of the error of a whole group


@pytest.mark.parametrize("release", ["4.1.0", "4.4.0"])
def test_what_javas_share_consumer_sees(release: str) -> None:
    need("java", "mvn")
    seen = SEEN
    for after, before in BY_4_1.items() if release == "4.1.0" else ():
        seen = seen.replace(after, before)
    with Kafka() as kafka:
        assert java(release, PROGRAM, kafka.bootstrap_servers, "shared", "sharers") == seen


def test_kafkas_tool_reads_the_state_of_share_partitions(tmp_path: Path) -> None:
    need("java", "mvn")
    with Kafka(directory=tmp_path) as kafka:
        java("4.4.0", PROGRAM, kafka.bootstrap_servers, "shared", "sharers")
    (path,) = (one for one in tmp_path.glob("broker-1/0/__share_group_state-*/*.log") if one.stat().st_size)
    decoder = "--share-group-state-decoder"
    dumped = java("4.1.0", "kafka.tools.DumpLogSegments", "--files", str(path), "--print-data-log", decoder)
    assert '"groupId":"sharers"' in dumped
    starts = [int(one) for one in re.findall(r'"startOffset":(\d+)', dumped)]
    assert (starts[0], starts[-1]) == (0, 15)


@pytest.mark.parametrize("steps", [share_acquire_steps, dead_letter_steps])
def test_a_real_broker_and_ours_answer_alike(steps: Any, tmp_path: Path) -> None:
    need("java", "mvn")
    with real_cluster("4.4.0", tmp_path, 1, "a") as facts:
        share_acquire_steps.warm_up(facts["bootstrap"])
        theirs = steps.lines(facts["bootstrap"])
    with Kafka() as kafka:
        assert steps.lines(kafka.bootstrap_servers, kafka.advance, patience=0.01) == theirs
