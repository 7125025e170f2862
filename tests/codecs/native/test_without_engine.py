"""Everything works where the native engine was not built: a process that cannot import it gives the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kwire.codecs import native
from tests.conftest import ROOT

DUMPS = ["kafka-3.9-zk.pcap", "kafka-3.9-zk.bin"]
UNCHOSEN = {name: value for name, value in os.environ.items() if name != "KWIRE_ENGINE"}
PROGRAM = """
import sys
if {hidden}:
    sys.modules["kwire.codecs.native._engine"] = None
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


def test_the_version_and_large_files_say_what_is_missing(tmp_path: Path) -> None:
    """Once, and only where it makes a difference."""
    reason = "is not used: it was not built; install a C compiler, then kwire again"
    version = "import kwire.cli.main as cli; cli.main(['--version'])"
    assert f"the native engine, which is several times as fast, {reason}" in run_hidden(version).stdout
    large = tmp_path / "large.pcap"
    raw = (ROOT / "fixtures/dumps/kafka-3.9-zk.pcap").read_bytes()
    large.write_bytes(raw + raw[24:] * 210)
    stats = "import sys, kwire.cli.main as cli; cli.main(['stats', *sys.argv[1:]])"
    assert run_hidden(stats, str(large), str(large)).stderr.count(reason) == 1
    assert reason not in run_hidden(stats, "fixtures/dumps/kafka-3.9-zk.pcap").stderr


def test_another_interpreter_says_that_the_engine_works_in_the_first_only() -> None:
    program = """
import kwire
assert kwire.engine == "native"
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
other = interpreters.create()
text = "import kwire; from kwire.codecs import native; print(kwire.engine, native.MISSING, flush=True)"
run = getattr(interpreters, "exec", None) or interpreters.run_string  # Python 3.13, 3.11
run(other, text)
"""
    if not native.AVAILABLE:
        pytest.skip("the native engine was not built")
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=UNCHOSEN, capture_output=True, check=False, text=True)
    assert "python it works only in the first interpreter of a process, and this is another one" in done.stdout
    assert "RuntimeWarning: kwire's native engine is not used, it works only in the first" in done.stderr


def run_hidden(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process that cannot import the engine."""
    hide = "import sys; sys.modules['kwire.codecs.native._engine'] = None\n"
    command = [sys.executable, "-c", hide + program, *arguments]
    return subprocess.run(command, cwd=ROOT, env=UNCHOSEN, capture_output=True, check=False, text=True)


def test_columns_are_the_same() -> None:
    program = """
import sys
if {hidden}:
    sys.modules["kwire.codecs.native._engine"] = None
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
