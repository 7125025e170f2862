"""GetTelemetrySubscriptions and PushTelemetry (KIP-714): clients may push metrics, and none are asked for.

As with a Kafka that has no receiver of metrics, ApiVersions does not list these apis, and they are answered.
"""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..cluster import RequestContext
from ..topics import NO_ID

INTERVAL_MS = 300_000
MOST_BYTES = 1 << 20  # Kafka's telemetry.max.bytes
SUBSCRIPTION = 1
NONE, ACCEPTED = 0, (4, 3, 1, 2)  # of `kwire.values.CompressionType`, in Kafka's order


def get_telemetry_subscriptions(request: RequestContext) -> Any:
    """Answer GetTelemetrySubscriptions: a client without an id gets one."""
    return messages.GetTelemetrySubscriptionsResponse(
        client_instance_id=_instance_id(request),
        subscription_id=SUBSCRIPTION,
        accepted_compression_types=ACCEPTED,
        push_interval_ms=INTERVAL_MS,
        telemetry_max_bytes=MOST_BYTES,
        delta_temporality=True,
    )


def _instance_id(request: RequestContext) -> bytes:
    given = bytes(request.message.client_instance_id)
    return request.cluster.rng.randbytes(16) if given == NO_ID else given


def push_telemetry(request: RequestContext) -> Any:
    """Answer PushTelemetry: the metrics are checked and discarded."""
    asked, response = request.message, messages.PushTelemetryResponse
    if asked.client_instance_id == NO_ID:
        return response(error_code=codes.INVALID_REQUEST)
    if asked.subscription_id != SUBSCRIPTION:
        return response(error_code=codes.UNKNOWN_SUBSCRIPTION_ID)
    if asked.compression_type not in (NONE, *ACCEPTED):
        return response(error_code=codes.UNSUPPORTED_COMPRESSION_TYPE)
    is_large = len(asked.metrics) > MOST_BYTES
    return response(error_code=codes.TELEMETRY_TOO_LARGE if is_large else codes.NONE)
