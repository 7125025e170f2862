"""Test suites that other projects wrote for their clients, unmodified, at `kwire serve`.

kafka-python's is in its source archive on PyPI, franz-go's (kgo) in its Go module. What is skipped is listed here with
its reason. The archive of aiokafka 0.14.0 has no tests; that of confluent-kafka 2.16.1 has only programs for Kafka's
own system tests; kadm's tests ask no broker.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.interop.clients import served

ARCHIVE = "kafka-python==3.0.12 --hash=sha256:4ccda3616b9aa5c353d74a97f2770d6cd1b950890d77ab0e8890e09a48eeed65"
# What the archive lacks: modules with helpers for brokers that the suite starts itself.
SERVICE = """
class ExternalService:
    def __init__(self, host, port):
        pass

    open = close = stop = lambda self: None


class SpawnedService:
    pass
"""
# The suite creates topics with its own broker's id 0, and joins groups with sessions shorter than Kafka's least.
PROPERTIES = "broker.id=0\nlisteners=PLAINTEXT://127.0.0.1:0\ngroup.min.session.timeout.ms=1000\n"
SKIPPED_OF_KAFKA_PYTHON = {
    "test_consumer_integration.py::test_kafka_consumer_offsets_for_time_old": "of brokers before 0.10.1",
    "test_sasl_integration.py": "needs Kafka's own scripts",
    "[lz4]": "lz4 is not installed",
    "[snappy]": "python-snappy is not installed",
    "[zstd]": "zstandard is not installed",
}
UNABLE = "test/integration/test_ssl_integration.py"  # needs Kafka's own scripts, and does not skip without them

FRANZ_GO = "github.com/twmb/franz-go/pkg/kgo"
FRANZ_GO_VERSION = "v1.22.2"
# Takes it for granted that no group committed before: else it finds the internal topic's records instead of its own.
FIRST = "Test848RegexBrokerResolves"
SKIPPED_OF_FRANZ_GO = {
    "TestIssueProduceBrokerTooOldFailsRecords": "needs a broker that is too old for topic ids",
    "TestSCRAMAuth": "needs users, and a second listener for them",
    "TestSCRAMAuthBadCredentials": "needs users, and a second listener for them",
}


def unpacked(folder: Path) -> Path:
    """Download kafka-python's source archive, check its hash, and complete its tests."""
    needed = folder / "archive.txt"
    needed.write_text(ARCHIVE + "\n")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "--require-hashes"]
    subprocess.run([*command, "-r", str(needed), "-d", str(folder)], check=True, timeout=300)
    (archive,) = folder.glob("kafka_python-*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    place = folder / archive.name.removesuffix(".tar.gz")
    (place / "test/__init__.py").touch()
    (place / "test/service.py").write_text(SERVICE)
    (place / "servers/4.1.0/kafka-bin").mkdir(parents=True)
    return place


def verdicts(run: Callable[[list[str]], dict[str, str]], failed: set[str]) -> dict[str, str]:
    """Run a suite, and once more alone what failed: its tests wait for seconds, and a machine may be busy.

    Args:
        run: runs these tests, or all; returns the verdict for each.
        failed: the verdicts of those that failed.
    """
    found = run([])
    repeated = sorted(name for name, verdict in found.items() if verdict in failed)
    return found | run(repeated) if repeated else found


def pytest_command(place: Path) -> list[str]:
    """Return the command that runs tests of the unpacked archive, with a line for each."""
    command = [sys.executable, "-P", "-m", "pytest", "-c", os.devnull, "--rootdir", str(place), "-p", "no:kwire"]
    return [*command, "-p", "no:cacheprovider", "-o", "addopts=", "-v", "-W", "ignore", "--color=no"]


def verdicts_in(output: str) -> dict[str, str]:
    """Return the verdict that pytest printed for each test."""
    return dict(re.findall(r"^(test/\S+) (PASSED|FAILED|ERROR|SKIPPED)\b", output, re.MULTILINE))


def check_at_a_broker(folder: Path, place: Path, paths: Sequence[Path]) -> None:
    """Run kafka-python's tests that need a broker at `kwire serve`.

    Args:
        folder: for the broker's files.
        place: the unpacked archive.
        paths: what Python's modules are found in.
    """
    properties = folder / "server.properties"
    properties.write_text(PROPERTIES)
    options = ["--config", str(properties), "--partitions", "4", "--release", "4.1", "--acls", "--allow-without-acls"]
    command = [*pytest_command(place), f"--ignore={UNABLE}"]
    outputs: list[str] = []

    def run(chosen: list[str]) -> dict[str, str]:
        environment = {"KAFKA_URI": f"kafka://{places[0]}", "KAFKA_VERSION": "4.1.0"}
        environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        outputs.append(output_of([*command, *(chosen or ["test/integration"])], place, environment))
        return verdicts_in(outputs[-1])

    with served(folder, *options) as places:
        by_test = verdicts(run, {"FAILED", "ERROR"})
    skipped = [name for name, verdict in by_test.items() if verdict == "SKIPPED"]
    unlisted = [name for name in skipped if not any(listed in name for listed in SKIPPED_OF_KAFKA_PYTHON)]
    failed = [name for name, verdict in by_test.items() if verdict in ("FAILED", "ERROR")]
    assert (failed, unlisted) == ([], []), outputs[-1][-20_000:]
    assert sum(verdict == "PASSED" for verdict in by_test.values()) >= 50, outputs[0][-20_000:]


@pytest.mark.ci
def test_kafka_python(tmp_path: Path) -> None:
    place = unpacked(tmp_path)
    check_at_a_broker(tmp_path, place, [place])


@pytest.mark.ci
def test_franz_go(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("there is no go")  # Debian 12's is too old for the module, so .ci/run installs none
    (tmp_path / "go.mod").write_text("module suite\n\ngo 1.24\n")

    def go(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["go", *arguments], cwd=tmp_path, timeout=900, capture_output=True, text=True)

    if (fetched := go("get", "-t", f"{FRANZ_GO}@{FRANZ_GO_VERSION}")).returncode:
        pytest.skip(f"go cannot fetch the module: {fetched.stderr[-300:]}")
    compiled = go("test", "-c", "-o", "suite", FRANZ_GO)
    assert compiled.returncode == 0, compiled.stderr[-5000:]
    listed = subprocess.run(
        ["go", "list", "-f", "{{.Dir}}", FRANZ_GO], cwd=tmp_path, check=True, stdout=subprocess.PIPE
    )
    sources = Path(listed.stdout.decode().strip())  # one of the tests reads them
    outputs: list[str] = []

    def run(chosen: list[str]) -> dict[str, str]:
        seeds = {"KGO_SEEDS": ",".join(map(str, places)), "KGO_TEST_RF": "3", "KGO_TEST_RECORDS": "5000"}
        choices = [f"run=^({'|'.join(chosen)})$"] if chosen else [f"run=^{FIRST}$", f"skip=^{FIRST}$"]
        for choice in choices:
            command = [str(tmp_path / "suite"), "-test.v", "-test.timeout=900s", f"-test.{choice}"]
            outputs.append(output_of(command, sources, seeds))
        found = re.findall(r"^--- (PASS|FAIL|SKIP): (\w+)", "".join(outputs[-len(choices) :]), re.MULTILINE)
        return {name: verdict for verdict, name in found}

    with served(tmp_path, "--brokers", "3") as places:
        found = verdicts(run, {"FAIL"})
    unlisted = {name for name, verdict in found.items() if verdict == "SKIP"} - SKIPPED_OF_FRANZ_GO.keys()
    failed = [name for name, verdict in found.items() if verdict == "FAIL"]
    assert (failed, unlisted) == ([], set()), outputs[-1][-20_000:]
    assert sum(verdict == "PASS" for verdict in found.values()) >= 145, outputs[1][-20_000:]


def output_of(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a suite; returns what it prints."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        timeout=1000,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.stdout.decode(errors="replace")
