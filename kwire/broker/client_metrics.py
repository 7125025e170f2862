"""Client metrics subscriptions (KIP-714): which metrics clients are asked to push, and how often."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from zlib import crc32

from ..errors.refused import InvalidConfig, InvalidRequest

MOST_SUBSCRIPTIONS = 1000
INTERVAL_MS = 300_000  # ClientMetricsConfigs.INTERVAL_MS_DEFAULT
LEAST_INTERVAL_MS, MOST_INTERVAL_MS = 100, 3_600_000
ALL_METRICS = "*"
MATCHED = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)


class WantedMetrics(NamedTuple):
    """What a client shall push: prefixes of names of metrics, how often in milliseconds, and the id of both."""

    metrics: tuple[str, ...]
    interval_ms: int
    subscription_id: int


def check_subscription(configs: Mapping[str, str]) -> None:
    """Raise InvalidRequest or InvalidConfig if the configs of a subscription are invalid."""
    # Kafka: ClientMetricsConfigs.validateConfigs
    interval_ms = int(configs.get("interval.ms", INTERVAL_MS))
    if not LEAST_INTERVAL_MS <= interval_ms <= MOST_INTERVAL_MS:
        takes = f"a number from {LEAST_INTERVAL_MS} to {MOST_INTERVAL_MS}"
        raise InvalidRequest("bad_config_value", config="interval.ms", value=configs["interval.ms"], takes=takes)
    _patterns(configs.get("match", ""))


def _patterns(text: str) -> dict[str, re.Pattern[str]]:
    patterns = {}
    for item in filter(None, map(str.strip, text.split(","))):
        name, equals, pattern = (part.strip() for part in item.partition("="))
        try:
            if not equals or name not in MATCHED:
                raise ValueError
            patterns[name] = re.compile(pattern)
        except (ValueError, re.error):
            takes = f"NAME=PATTERN, with the names {', '.join(MATCHED)}"
            raise InvalidConfig("bad_config_value", config="match", value=item, takes=takes) from None
    return patterns


def find_wanted_metrics(subscriptions: Mapping[str, Mapping[str, str]], client: Mapping[str, str]) -> WantedMetrics:
    """Return what a client shall push.

    Args:
        subscriptions: the configs of the subscriptions, by name.
        client: what is known of the client, by the names in `MATCHED`.
    """
    # Kafka: ClientMetricsManager.createClientInstance
    metrics: set[str] = set()
    interval_ms = INTERVAL_MS
    for configs in subscriptions.values():
        wanted = [name.strip() for name in configs.get("metrics", "").split(",") if name.strip()]
        patterns = _patterns(configs.get("match", ""))
        if wanted and all(pattern.fullmatch(client.get(name, "")) for name, pattern in patterns.items()):
            metrics |= set(wanted)
            interval_ms = min(interval_ms, int(configs.get("interval.ms", INTERVAL_MS)))
    names = ("",) if ALL_METRICS in metrics else tuple(sorted(metrics))  # an empty prefix stands for all metrics
    number = crc32(repr((names, interval_ms)).encode()) & 0x7FFFFFFF
    return WantedMetrics(names, interval_ms, number)
