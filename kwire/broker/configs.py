"""The configs of topics, groups and brokers that clients can set: types, defaults and valid values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..errors.refused import InvalidConfig
from ..values import ConfigType

MOST_LENGTH = 20_000  # the maximum length of a value; only lists of throttled replicas get that long
LONG, INT, _LIST, TEXT, YES, _RATIO = (ConfigType(name) for name in "LONG INT LIST STRING BOOLEAN DOUBLE".split())
HIGHEST = 2**63 - 1
_WEEK, _DAY = str(7 * 24 * 3600 * 1000), str(24 * 3600 * 1000)
_REPLICAS = r"\*|(\d+:\d+(,\d+:\d+)*)?"
_DURATION = r"by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?"


class Config(NamedTuple):
    """A config: its type, default, and valid values (a minimum, both limits, or a pattern)."""

    type: int
    default: str
    takes: int | tuple[int, int] | str = 0

    @property
    def range(self) -> tuple[int, int]:
        """The lowest and highest valid number."""
        if isinstance(self.takes, tuple):
            return self.takes
        return int(self.takes), HIGHEST if self.type == LONG else 2**31 - 1

    @property
    def about(self) -> str:
        """The description of valid values, for error messages."""
        if isinstance(self.takes, str):
            return self.takes
        low, high = self.range
        return f"a number from {low} to {high}" if isinstance(self.takes, tuple) else f"a number from {low} or higher"


TOPIC_CONFIGS: Mapping[str, Config] = {
    "cleanup.policy": Config(_LIST, "delete", r"((delete|compact)(,(delete|compact))?)?"),
    "compression.gzip.level": Config(INT, "-1", r"-1|[1-9]"),
    "compression.lz4.level": Config(INT, "9", r"[1-9]|1[0-7]"),
    "compression.type": Config(TEXT, "producer", "uncompressed|gzip|snappy|lz4|zstd|producer"),
    "compression.zstd.level": Config(INT, "3", -131072),
    "delete.retention.ms": Config(LONG, _DAY),
    "file.delete.delay.ms": Config(LONG, "60000"),
    "flush.messages": Config(LONG, str(HIGHEST), 1),
    "flush.ms": Config(LONG, str(HIGHEST)),
    "follower.replication.throttled.replicas": Config(_LIST, "", _REPLICAS),
    "index.interval.bytes": Config(INT, "4096"),
    "leader.replication.throttled.replicas": Config(_LIST, "", _REPLICAS),
    "local.retention.bytes": Config(LONG, "-2", -2),
    "local.retention.ms": Config(LONG, "-2", -2),
    "max.compaction.lag.ms": Config(LONG, str(HIGHEST), 1),
    "max.message.bytes": Config(INT, "1048588"),
    "message.timestamp.after.max.ms": Config(LONG, "3600000"),
    "message.timestamp.before.max.ms": Config(LONG, str(HIGHEST)),
    "message.timestamp.type": Config(TEXT, "CreateTime", "CreateTime|LogAppendTime"),
    "min.cleanable.dirty.ratio": Config(_RATIO, "0.5", r"0(\.\d+)?|1(\.0+)?"),
    "min.compaction.lag.ms": Config(LONG, "0"),
    "min.insync.replicas": Config(INT, "1", 1),
    "preallocate": Config(YES, "false", "true|false"),
    "remote.log.copy.disable": Config(YES, "false", "true|false"),
    "remote.log.delete.on.disable": Config(YES, "false", "true|false"),
    "remote.storage.enable": Config(YES, "false", "true|false"),
    "retention.bytes": Config(LONG, "-1", -1),
    "retention.ms": Config(LONG, "-1", -1),
    "segment.bytes": Config(INT, str(1 << 30), 14),
    "segment.index.bytes": Config(INT, str(10 << 20), 4),
    "segment.jitter.ms": Config(LONG, "0"),
    "segment.ms": Config(LONG, _WEEK, 1),
    "unclean.leader.election.enable": Config(YES, "false", "true|false"),
}


# Dynamic configs of brokers. They have no effect: these brokers copy no records over a network, and lack Kerberos.
DYNAMIC_CONFIGS: Mapping[str, Config] = {
    name: Config(LONG, str(HIGHEST))
    for name in (
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
} | {"sasl.kerberos.min.time.before.relogin": Config(LONG, "60000")}


# Configs of groups (KIP-848, KIP-932). Heartbeat intervals are shorter than Kafka's 5 s, which is too long for tests.
GROUP_CONFIGS: Mapping[str, Config] = {
    "consumer.heartbeat.interval.ms": Config(INT, "500", (500, 15_000)),
    "consumer.session.timeout.ms": Config(INT, "45000", (45_000, 60_000)),
    "share.auto.offset.reset": Config(TEXT, "latest", rf"latest|earliest|{_DURATION}"),
    "share.delivery.count.limit": Config(INT, "5", (2, 10)),
    "share.heartbeat.interval.ms": Config(INT, "500", (500, 15_000)),
    "share.isolation.level": Config(TEXT, "read_uncommitted", "read_committed|read_uncommitted"),
    "share.partition.max.record.locks": Config(INT, "2000", (100, 10_000)),
    "share.record.lock.duration.ms": Config(INT, "30000", (15_000, 60_000)),
    "share.renew.acknowledge.enable": Config(YES, "true", "true|false"),
    "share.session.timeout.ms": Config(INT, "45000", (45_000, 60_000)),
}


def check_configs(
    given: Iterable[tuple[str, str | None]], configs: Mapping[str, Config] = TOPIC_CONFIGS
) -> dict[str, str]:
    """Validate and return the configs of a topic or another resource.

    Raises:
        InvalidConfig: a config is unknown, or its value is invalid.

    >>> check_configs([("retention.ms", "1000")])
    {'retention.ms': '1000'}
    """
    found = {}
    for name, value in given:
        if name not in configs and configs is TOPIC_CONFIGS:
            raise InvalidConfig("unknown_config", config=name)
        if name not in configs and configs is GROUP_CONFIGS:
            raise InvalidConfig("unknown_group_config", config=name, known=", ".join(GROUP_CONFIGS))
        if name not in configs:
            raise InvalidConfig("unknown_broker_config", config=name, known=", ".join(DYNAMIC_CONFIGS))
        config = configs[name]
        if value is None or not _is_right(config, value):
            raise InvalidConfig("bad_config_value", config=name, value=value, takes=config.about)
        found[name] = value
    return found


def _is_right(config: Config, value: str) -> bool:
    if isinstance(config.takes, str):
        return len(value) <= MOST_LENGTH and re.fullmatch(config.takes, value, re.ASCII) is not None
    low, high = config.range
    return re.fullmatch(r"-?[0-9]{1,19}", value) is not None and low <= int(value) <= high
