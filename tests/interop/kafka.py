"""Real Kafka for tests: clusters that the material's `kafka-up` starts, and Java programs with Kafka's own jars.

Where Java, Maven or the material is missing, tests are skipped; with KWIRE_INTEROP=required they fail.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.conftest import SHARED, lacking
from tests.tools.locks import one_at_a_time

TOOLS = SHARED / "captures/tools"
CACHE = Path.home() / ".cache/kafka-up"
RELEASES = ("3.9.1", "4.4.0")  # the last one with ZooKeeper, and KRaft
ORACLES = ("4.4.0", "3.9.2")  # whose classes are asked
# What Spark's documentation of Kafka says to have, in versions of which Maven Central has all.
CONNECTOR = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.1"),
    ("org.apache.commons", "commons-pool2", "2.12.0"),
)
POM = (
    "<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>"
    "<dependencies>{}</dependencies></project>"
)
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def need(*programs: str) -> None:
    """Skip a test, or fail it where all must be there."""
    missing = [name for name in programs if shutil.which(name) is None]
    if not TOOLS.is_dir():
        missing.append(str(TOOLS))
    if missing:
        lacking(", no ".join(missing))


@cache
def oracle(release: str) -> list[str]:
    """Return the command that answers questions with the classes of a release; it is built at first.

    The script that builds it replaces the folder of classes, so two must not run at once.
    """
    command = [str(SHARED / "kafka/oracle/oracle"), "--release", release]
    with one_at_a_time(Path.home() / ".cache"):
        done = subprocess.run([*command, "--build-only"], timeout=600, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return command


@cache
def jars(release: str) -> str:
    """Return the class path of a release; it is downloaded at first."""
    command = [sys.executable, str(TOOLS / "kafka-up"), release, "--resolve-only", "--dir", os.devnull]
    with one_at_a_time(Path.home() / ".cache"):
        subprocess.run([*command, "--cache", str(CACHE)], check=True, timeout=600, capture_output=True)
    return str(CACHE / release / "jars/*")


def spark_connector() -> list[str]:
    """Return the jars of Spark's Kafka connector."""
    place = Path("kwire-spark-kafka", "-".join(version for _, _, version in CONNECTOR))
    return maven_jars(place, *((*artifact, ALONE) for artifact in CONNECTOR))


def message_generator(release: str) -> list[str]:
    """Return the jars of the generator that makes Kafka's classes from message specs."""
    return maven_jars(Path("kwire-message-generator", release), ("org.apache.kafka", "generator", release, ""))


def maven_jars(place: Path, *artifacts: tuple[str, str, str, str]) -> list[str]:
    """Return jars of Maven Central, which are downloaded at first to `place` in the cache."""
    folder = Path.home() / ".cache" / place
    with one_at_a_time(Path.home() / ".cache"):
        if not folder.is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
                pom = Path(temporary, "pom.xml")
                pom.write_text(POM.format("".join(DEPENDENCY.format(*one) for one in artifacts)))
                command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
                command.append(f"-DoutputDirectory={temporary}/jars")
                done = subprocess.run(command, timeout=300, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout[-3000:]
                Path(temporary, "jars").rename(folder)
    return [str(jar) for jar in sorted(folder.glob("*.jar"))]


def java(release: str, *arguments: str) -> str:
    """Run a Java program with the jars of a release, and return what it printed."""
    command = ["java", *JVM, "-cp", jars(release), *arguments]
    done = subprocess.run(command, timeout=120, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@contextmanager
def real_cluster(
    release: str, folder: Path, brokers: int, racks: str, more_options: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Run a real cluster, with more options of kafka-up; gives what kafka-up says of it."""
    jars(release)
    options = ["--brokers", str(brokers), "--racks", racks, "--log-dirs", "2", "--no-request-log"]
    options += ["--conf", "controlled.shutdown.enable=false", *more_options]
    try:
        yield _started(release, folder, 10 * brokers + 10, options)
    finally:
        for attempt in folder.iterdir():
            kafka_down(attempt, "--kill")


def _started(release: str, folder: Path, ports: int, options: list[str]) -> dict[str, Any]:
    """Start a cluster; on a busy machine Kafka may give up waiting for ZooKeeper, so this is tried again."""
    for attempt in range(3):
        place = ["--dir", str(folder / str(attempt)), "--cache", str(CACHE), "--base-port", str(_free_ports(ports))]
        command = [sys.executable, str(TOOLS / "kafka-up"), release, *place, *options]
        done = subprocess.run(command, timeout=180, capture_output=True, text=True)
        if done.returncode == 0:
            facts: dict[str, Any] = json.loads(done.stdout)
            return facts
        kafka_down(folder / str(attempt), "--kill")
    raise AssertionError(done.stderr[-3000:])


def kafka_down(folder: Path, *options: str) -> None:
    """Stop a cluster, or a broker of it."""
    command = [sys.executable, str(TOOLS / "kafka-down"), str(folder), *options]
    subprocess.run(command, timeout=120, capture_output=True)


def _free_ports(count: int) -> int:
    """Find a row of ports that nobody listens on, below those that systems give out; other suites may look too."""
    for _ in range(50):
        base = Random().randrange(21000, 32000, 100)
        with ExitStack() as stack:
            try:
                for port in range(base, base + count):
                    stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
        return base
    raise AssertionError("there is no row of free ports")
