"""Everything works where the native engine was not built: a process that cannot import it gives the same answers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kwire import native
from tests.conftest import ROOT

DUMPS = ["kafka-3.9-zk.pcap", "kafka-3.9-zk.bin"]
UNCHOSEN = {name: value for name, value in os.environ.items() if name != "KWIRE_ENGINE"}
PROGRAM = """
import sys
if {hidden}:
    sys.modules["kwire.native._engine"] = None
from kwire.cli.main import main
main(sys.argv[1:])
import kwire
print("engine", kwire.engine)
"""


def printed(hidden: bool, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(hidden=hidden), *arguments],
        cwd=ROOT,
        env=UNCHOSEN,
        capture_output=True,
        check=True,
        text=True,
    )
    *lines, engine = done.stdout.splitlines()
    assert engine == ("engine python" if hidden or not native.AVAILABLE else "engine native")
    return lines


@pytest.mark.parametrize("dump", DUMPS)
def test_a_dump_is_decoded_the_same(dump: str) -> None:
    path = f"fixtures/dumps/{dump}"
    lines = printed(True, "decode", "--jsonl", path)
    assert len(lines) > 5
    assert lines == printed(False, "decode", "--jsonl", path)


def test_columns_are_the_same() -> None:
    program = """
import sys
if {hidden}:
    sys.modules["kwire.native._engine"] = None
import kwire
response = kwire.messages.MetadataResponse
topic, partition = response.MetadataResponseTopic, response.MetadataResponsePartition
partitions = [partition(partition_index=index, replica_nodes=[1, 2], leader_id=index % 3) for index in range(4)]
message = response(cluster_id="c", topics=[topic(name=name, partitions=partitions) for name in ("orders", "é")])
body = kwire.codec(response, 12).encode(message)
columns = kwire.columns("MetadataResponse", 12, "topics[].partitions[]")
print([(batch.rows.to_pylist(), batch.errors) for batch in columns.read([body, body])])
"""
    found = [
        subprocess.run(
            [sys.executable, "-c", program.format(hidden=hidden)],
            cwd=ROOT,
            env=UNCHOSEN,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hidden in (True, False)
    ]
    assert found[0] == found[1]
    assert found[0].count("'topics_name': 'orders'") == 8
