"""Spans and metrics: those of a program with OpenTelemetry's SDK, and nothing elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from kwire.runtime import telemetry
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def reported() -> Any:
    command = [sys.executable, "-m", "tests.runtime.telemetry_steps"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, timeout=60)
    return json.loads(done.stdout)


def spans_of(reported: Any, kind: str, name: str) -> list[dict[str, Any]]:
    return [span for span in reported["spans"] if (span["kind"], span["name"]) == (kind, name)]


def test_a_call_is_a_span_of_the_client_in_that_of_the_program(reported: Any) -> None:
    (client,) = spans_of(reported, "CLIENT", "Metadata")
    (own,) = spans_of(reported, "INTERNAL", "its own")
    assert client["parent"] == own["id"]
    attributes = client["attributes"]
    size = attributes.pop("kafka.response.size")
    assert attributes.pop("server.port") > 0
    assert attributes == {
        "messaging.system": "kafka",
        "messaging.operation.name": "Metadata",
        "messaging.client.id": "eve",
        "server.address": attributes["server.address"],
        "kafka.api.version": 12,
        "kafka.request.size": 22,
    }
    assert size > 40
    assert (client["status"], client["events"]) == ("UNSET", 0)


def test_a_request_is_a_span_of_the_broker(reported: Any) -> None:
    (served,) = spans_of(reported, "SERVER", "Metadata")
    assert served["attributes"]["messaging.client.id"] == "eve"
    assert served["attributes"]["kafka.api.version"] == 12
    assert served["parent"] is None


def test_a_failure_is_named_without_its_text(reported: Any) -> None:
    (client,) = spans_of(reported, "CLIENT", "ListGroups")
    assert (client["status"], client["attributes"]["error.type"], client["events"]) == ("ERROR", "CallError", 0)


def test_durations_are_histograms(reported: Any) -> None:
    calls = {
        (name, attributes["messaging.operation.name"], attributes.get("error.type")): count
        for name, unit, attributes, count in reported["points"]
        if unit == "s"
    }
    assert calls["messaging.client.operation.duration", "ListGroups", "CallError"] == 1
    assert calls["messaging.client.operation.duration", "Metadata", None] >= 1
    assert calls["kafka.broker.request.duration", "Metadata", None] >= 1


def test_nothing_is_imported_where_a_program_does_not_use_it() -> None:
    program = (
        "import sys; from kwire.testing import Kafka\n"
        "with Kafka() as kafka: kafka.create_topic('t'); kafka.produce('t', b'v')\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "[]\n"


def test_without_it_one_object_serves_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, telemetry.API, raising=False)
    first, second = (telemetry.observe(telemetry.CLIENT, name) for name in ("Metadata", "Fetch"))
    assert first is second
    with first as measurement:
        measurement.note(api_version=1)
