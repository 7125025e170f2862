"""A program with OpenTelemetry's SDK: asks a served broker, and prints the spans and metrics of both as JSON."""

from __future__ import annotations

import json
import sys
from contextlib import suppress

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import kwire
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from kwire.testing import Kafka


def main() -> None:
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    with Kafka() as kafka:
        where = address(kafka.bootstrap_servers)
        with BrokerConnection(where, client_id="eve") as broker:
            broker.ask(kwire.codec("MetadataRequest", 1), kwire.messages.MetadataRequest(topics=None))
            trace.set_tracer_provider(provider)  # later than the first request: the proxies of the API find it
            metrics.set_meter_provider(MeterProvider([reader]))
            with trace.get_tracer("a program").start_as_current_span("its own"):
                broker.ask(kwire.codec("MetadataRequest", 12), kwire.messages.MetadataRequest(topics=None))
            kafka.on("ListGroups").drop()
            with suppress(CallError):
                broker.ask(kwire.codec("ListGroupsRequest", 4), kwire.messages.ListGroupsRequest())
    shown = []
    for span in spans.get_finished_spans():
        parent = None if span.parent is None else format(span.parent.span_id, "x")
        shown.append(
            {
                "name": span.name,
                "kind": span.kind.name,
                "attributes": dict(span.attributes or {}),
                "status": span.status.status_code.name,
                "events": len(span.events),
                "parent": parent,
                "id": format(span.context.span_id, "x"),
            }
        )
    data = reader.get_metrics_data()
    points = [
        [metric.name, metric.unit, dict(point.attributes or {}), point.count]  # type: ignore[union-attr]
        for resource in (data.resource_metrics if data else [])
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    ]
    json.dump({"spans": shown, "points": points}, sys.stdout)


if __name__ == "__main__":
    main()
