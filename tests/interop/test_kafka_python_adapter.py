"""kafka-python over kwire: its own tests, with its package `kafka.protocol` replaced by the adapter beside this file.

kafka-python's source archive has the tests of connections, of the cluster's metadata and of the client at a broker; its
tests of `kafka.protocol` itself are only in its repository. The archives of aiokafka 0.4.3, 0.6.0, 0.8.0, 0.12.0 and
0.14.0 have no tests at all.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.interop.kafka_python_adapter.modules import INIT
from tests.interop.test_suites import check_at_a_broker, output_of, pytest_command, unpacked, verdicts_in

# The helpers of the tests that the archive lacks.
FIXTURES = """
import pytest
from kafka.cluster import ClusterMetadata
from kafka.metrics import Metrics


@pytest.fixture
def cluster():
    return ClusterMetadata()


@pytest.fixture
def metrics():
    return Metrics()
"""
# What is not run. The first two and the fixtures need the module test.mock_broker, which the archive lacks.
LEFT_OUT = {
    "test/test_mock_broker.py": "tests the module test.mock_broker",
    "test/net/test_sasl_reauthentication.py": "needs the module test.mock_broker",
    "fixture 'manager' not found": "it is in the module test.conftest, and needs test.mock_broker",
    "fixture 'mocker' not found": "needs pytest-mock, which is not installed",
    "pip install xxhash": "needs xxhash, which is not installed",
}


def adapted(folder: Path) -> Path:
    """Return the unpacked archive with the adapter in place."""
    place = unpacked(folder)
    protocol = place / "kafka/protocol"
    shutil.rmtree(protocol)
    protocol.mkdir()
    (protocol / "__init__.py").write_text(INIT)
    return place


@pytest.mark.ci
def test_unit_tests_pass_over_kwire(tmp_path: Path) -> None:
    place = adapted(tmp_path)
    (place / "test/conftest.py").write_text(FIXTURES)
    files = [str(path.relative_to(place)) for path in sorted(place.glob("test/test_*.py"))] + ["test/net"]
    ignored = [f"--ignore={name}" for name in LEFT_OUT if name.endswith(".py")]
    chosen = [name for name in files if name not in LEFT_OUT]
    variables = {"PYTHONPATH": os.pathsep.join([str(place), str(ROOT)])}
    output = output_of([*pytest_command(place), "-rs", "--tb=short", *ignored, *chosen], place, variables)
    by_test = verdicts_in(output)
    failures = re.findall(r"^E  +(.*(?:Error|not found).*)$", output, re.MULTILINE)
    unlisted = [line for line in failures if not any(listed in line for listed in LEFT_OUT)]
    assert unlisted == [], output[-20_000:]
    assert sum(verdict == "FAILED" for verdict in by_test.values()) <= 1, output[-20_000:]  # the one without xxhash
    assert sum(verdict == "PASSED" for verdict in by_test.values()) >= 340, output[-20_000:]


@pytest.mark.ci
def test_the_client_works_at_a_broker_over_kwire(tmp_path: Path) -> None:
    place = adapted(tmp_path)
    check_at_a_broker(tmp_path, place, [place, ROOT])
