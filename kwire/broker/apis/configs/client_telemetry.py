"""GetTelemetrySubscriptions and PushTelemetry: clients' metrics (KIP-714), which the broker never requests."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...controller.topic import NO_TOPIC_ID
from ...request_context import RequestContext

INTERVAL_MS = 300_000
MOST_BYTES = 1 << 20  # the default of Kafka's telemetry.max.bytes
SUBSCRIPTION = 1
NONE, ACCEPTED = 0, (4, 3, 1, 2)  # values of `kwire.values.CompressionType`, in Kafka's order


def get_telemetry_subscriptions(
    request: RequestContext[messages.GetTelemetrySubscriptionsRequest],
) -> messages.GetTelemetrySubscriptionsResponse:
    """Handle GetTelemetrySubscriptions: assign an id to a client that has none."""
    return messages.GetTelemetrySubscriptionsResponse(
        client_instance_id=_instance_id(request),
        subscription_id=SUBSCRIPTION,
        accepted_compression_types=ACCEPTED,
        push_interval_ms=INTERVAL_MS,
        telemetry_max_bytes=MOST_BYTES,
        delta_temporality=True,
    )


def _instance_id(request: RequestContext[messages.GetTelemetrySubscriptionsRequest]) -> bytes:
    given = bytes(request.message.client_instance_id)
    return request.cluster.rng.randbytes(16) if given == NO_TOPIC_ID else given


def push_telemetry(request: RequestContext[messages.PushTelemetryRequest]) -> messages.PushTelemetryResponse:
    """Handle PushTelemetry: validate and discard the metrics."""
    message = request.message
    response = messages.PushTelemetryResponse
    if message.client_instance_id == NO_TOPIC_ID:
        return response(error_code=ErrorCode.INVALID_REQUEST)
    if message.subscription_id != SUBSCRIPTION:
        return response(error_code=ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
    if message.compression_type not in (NONE, *ACCEPTED):
        return response(error_code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
    is_large = len(message.metrics) > MOST_BYTES
    return response(error_code=ErrorCode.TELEMETRY_TOO_LARGE if is_large else ErrorCode.NONE)


APIS = {
    "GetTelemetrySubscriptions": ServedApi(0, 0, get_telemetry_subscriptions, is_advertised=False),
    "PushTelemetry": ServedApi(0, 0, push_telemetry, is_advertised=False),
}
