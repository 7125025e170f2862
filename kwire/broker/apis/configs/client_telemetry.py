"""GetTelemetrySubscriptions and PushTelemetry: clients' metrics (KIP-714), which the broker discards."""

from __future__ import annotations

from typing import Any

from .... import messages
from ....codecs.json_writer import uuid_text
from ....values import ErrorCode
from ...api import ServedApi
from ...client_metrics import WantedMetrics, find_wanted_metrics
from ...controller.topic import NO_TOPIC_ID
from ...request_context import RequestContext

MOST_BYTES = 1 << 20  # the default of Kafka's telemetry.max.bytes
NONE, ACCEPTED = 0, (4, 3, 1, 2)  # values of `kwire.values.CompressionType`, in Kafka's order


def get_telemetry_subscriptions(
    request: RequestContext[messages.GetTelemetrySubscriptionsRequest],
) -> messages.GetTelemetrySubscriptionsResponse:
    """Handle GetTelemetrySubscriptions: assign an id to a client that has none."""
    instance_id = _instance_id(request)
    wanted = _find_wanted(request, instance_id)
    return messages.GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=wanted.subscription_id,
        accepted_compression_types=ACCEPTED,
        push_interval_ms=wanted.interval_ms,
        telemetry_max_bytes=MOST_BYTES,
        delta_temporality=True,
        requested_metrics=wanted.metrics,
    )


def _find_wanted(request: RequestContext[Any], instance_id: bytes) -> WantedMetrics:
    client = {
        "client_instance_id": uuid_text(instance_id),
        "client_id": request.client_id,
        "client_source_address": request.client_host,
    }
    return find_wanted_metrics(request.cluster.controller.configs.client_metrics, client)


def _instance_id(request: RequestContext[messages.GetTelemetrySubscriptionsRequest]) -> bytes:
    given = bytes(request.message.client_instance_id)
    return request.cluster.rng.randbytes(16) if given == NO_TOPIC_ID else given


def push_telemetry(request: RequestContext[messages.PushTelemetryRequest]) -> messages.PushTelemetryResponse:
    """Handle PushTelemetry: validate and discard the metrics."""
    message = request.message
    response = messages.PushTelemetryResponse
    if message.client_instance_id == NO_TOPIC_ID:
        return response(error_code=ErrorCode.INVALID_REQUEST)
    if message.subscription_id != _find_wanted(request, bytes(message.client_instance_id)).subscription_id:
        return response(error_code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
    if message.compression_type not in (NONE, *ACCEPTED):
        return response(error_code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    is_large = len(message.metrics) > MOST_BYTES
    return response(error_code=ErrorCode.TELEMETRY_TOO_LARGE if is_large else ErrorCode.NONE)


APIS = {
    "GetTelemetrySubscriptions": ServedApi(0, 0, get_telemetry_subscriptions, is_advertised=False),
    "PushTelemetry": ServedApi(0, 0, push_telemetry, is_advertised=False),
}
