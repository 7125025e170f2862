"""KIP-112's test plan with real disks, a real producer and a real consumer (kcat): a log directory fails at the start,
under the leader, under a follower; every record that was acknowledged is read once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kwire.values import ErrorCode
from tests.client.brokers import Brokers, put_a_file_there, remove
from tests.conftest import lacking, spread

KCAT = shutil.which("kcat")
HALF = 1000
Break = Callable[[Path], None]


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[Brokers]:
    if KCAT is None:
        lacking("kcat")
    made = Brokers(tmp_path)
    yield made
    made.end()


@contextmanager
def producing(brokers: Brokers, topic: str) -> Iterator[Callable[[int, int], None]]:
    """Run an idempotent producer and a consumer; at the end all records are acknowledged, and each was read once."""
    kcat = [str(KCAT), "-E", "-b", brokers.bootstrap, "-t", topic, "-X", "topic.metadata.refresh.interval.ms=500"]
    produce = [*kcat, "-P", "-X", "enable.idempotence=true", "-X", "linger.ms=1", "-X", "batch.num.messages=50"]
    consume = [*kcat, "-C", "-o", "beginning", "-u", "-q", "-c", str(2 * HALF)]
    out = brokers.root / f"{topic}.read"
    with (
        out.open("w") as stream,
        subprocess.Popen(consume, stdout=stream, stderr=subprocess.DEVNULL) as consumer,
        subprocess.Popen(produce, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as producer,
    ):
        try:

            def feed(start: int, stop: int) -> None:
                assert producer.stdin is not None
                producer.stdin.writelines(f"{topic} {number}\n" for number in range(start, stop))
                producer.stdin.flush()

            feed(0, HALF)
            brokers.until(lambda: out.read_text().count("\n") >= HALF // 2)
            yield feed
            feed(HALF, 2 * HALF)
            assert producer.stdin is not None
            producer.stdin.close()
            assert producer.wait(120) == 0  # everything is acknowledged
            assert consumer.wait(120) == 0
        finally:
            producer.kill()
            consumer.kill()
    expected = [f"{topic} {number}" for number in range(2 * HALF)]
    assert out.read_text().splitlines() == expected
    again = subprocess.run([*kcat, "-C", "-o", "beginning", "-e", "-q"], check=True, timeout=120, capture_output=True)
    assert again.stdout.decode().splitlines() == expected


def leave_alone(brokers: Brokers, node: int) -> None:
    """Let the two others lose all their directories."""
    for other in {1, 2, 3} - {node}:
        for one in "ab":
            if brokers.path(other, one).is_dir():
                put_a_file_there(brokers.path(other, one))
    brokers.until(lambda: [one.node_id for one in brokers.metadata().brokers] == [node])


@pytest.mark.ci  # that at run time is tried everywhere
def test_on_the_leader_at_the_start(brokers: Brokers) -> None:
    brokers.start()
    brokers.create("t", 1, 2, 3)
    with producing(brokers, "t"):
        brokers.stop()
        put_a_file_there(brokers.path(1, "a"))
        brokers.start()
        assert brokers.partition("t") == (2, (2, 3), (1,))
        assert brokers.log_dirs(1) == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
    assert [brokers.log_dirs(node) for node in (2, 3)] == [[0, 0], [0, 0]]


@pytest.mark.parametrize("harm", spread([put_a_file_there, remove], 1))
def test_on_the_leader_at_run_time(brokers: Brokers, harm: Break) -> None:
    brokers.start()
    brokers.create("t", 1, 2, 3)
    with producing(brokers, "t"):
        harm(brokers.path(1, "a"))
        brokers.until(lambda: brokers.partition("t") == (2, (2, 3), (1,)))
        assert brokers.log_dirs(1) == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
    brokers.create("u", 1, 2, 3)
    assert brokers.partition("u") == (1, (1, 2, 3), ())
    leave_alone(brokers, 1)
    with producing(brokers, "u"):
        assert brokers.partition("u") == (1, (1,), (2, 3))


@pytest.mark.ci  # that on the leader is tried everywhere
def test_on_a_follower_at_run_time(brokers: Brokers) -> None:
    brokers.start()
    brokers.create("t", 1, 2, 3)
    with producing(brokers, "t"):
        put_a_file_there(brokers.path(2, "a"))
        brokers.until(lambda: brokers.partition("t") == (1, (1, 3), (2,)))
        assert brokers.log_dirs(2) == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
    brokers.create("u", 1, 2, 3)
    leave_alone(brokers, 2)
    with producing(brokers, "u"):
        assert brokers.partition("u") == (2, (2,), (1, 3))


def test_a_failure_that_is_told(brokers: Brokers) -> None:
    brokers.start("--fail-log-dir", f"1:{brokers.path(1, 'a')}@2")
    brokers.create("t", 1, 2, 3)
    with producing(brokers, "t"):
        brokers.until(lambda: brokers.partition("t") == (2, (2, 3), (1,)))
        assert brokers.log_dirs(1) == [ErrorCode.KAFKA_STORAGE_ERROR, 0]
