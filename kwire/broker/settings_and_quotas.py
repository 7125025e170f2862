"""Settings and brokers of a served cluster; configs of topics and brokers with types and defaults; client quotas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..cluster import Broker
from ..errors.refused import InvalidConfig
from ..values import ConfigType
from .storage import Disk, MemoryDisk

MEBIBYTE = 1 << 20
MOST_LENGTH = 20_000  # the maximum length of a value; only lists of throttled replicas get that long
_LONG, _INT, _LIST, _TEXT, _YES, _RATIO = (ConfigType(name) for name in "LONG INT LIST STRING BOOLEAN DOUBLE".split())
_HIGHEST = 2**63 - 1
_WEEK, _DAY = str(7 * 24 * 3600 * 1000), str(24 * 3600 * 1000)
_REPLICAS = r"\*|(\d+:\d+(,\d+:\d+)*)?"
USER, CLIENT = "user", "client-id"
PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
KEYS = (PRODUCE, FETCH, "request_percentage", "controller_mutation_rate")
ANONYMOUS = "ANONYMOUS"  # the only user entity of quotas
MOST_QUOTAS, MOST_CLIENTS = 1000, 10_000
FIRST_RELEASE_WITH_LIMIT = 4  # of `message.timestamp.after.max.ms`
Entity = frozenset[tuple[str, str | None]]  # a quota's entity types and names; None is the default


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that all brokers share; times are in seconds, sizes in bytes.

    `most_partitions`, `most_group_members`, `most_groups` and `most_group_bytes` limit the state that clients can
    create; Kafka has no such limits, or far higher ones. `fetch_max_bytes` is smaller than Kafka's 55 MiB, because this
    many bytes may be buffered for each slow client. `replica_assignor` is a name or `MODULE:FUNCTION`, as for
    `assignor_for`. `profile` enables a draft: TopicMetadata v1 (KIP-36) or CreateReplicaAssignment (KIP-879).
    """

    auto_create_topics: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    min_insync_replicas: int = 1
    max_message_bytes: int = MEBIBYTE + 12
    fetch_max_bytes: int = 8 * MEBIBYTE
    retention_bytes: int = -1  # per partition; -1 disables the limit
    initial_rebalance_delay: float = 0.0  # Kafka's default is 3 s, for many consumers that start together
    consumer_heartbeat_interval: float = 0.5  # for KIP-848 groups; Kafka's default of 5 s is too long for tests
    consumer_session_timeout: float = 45.0
    migration_policy: str = "bidirectional"  # or upgrade, downgrade, disabled (group.consumer.migration.policy)
    min_session_timeout: float = 6.0
    max_session_timeout: float = 1800.0
    offset_metadata_max_bytes: int = 4096
    offsets_retention_minutes: int = 7 * 24 * 60
    offsets_retention_check_interval_ms: int = 600_000
    internal_partitions: int = 50  # for each internal topic
    most_partitions: int = 20_000
    most_group_members: int = 5_000
    most_groups: int = 10_000
    most_group_bytes: int = 128 * MEBIBYTE  # for all groups with members and commits
    replica_assignor: str = "rack-aware"
    rack_aware_fetch: bool = False  # whether consumers are sent to a replica in their rack (KIP-392)
    profile: str | None = None
    read_only: bool = False  # whether to refuse writes to log directories; groups still work
    release: str | None = None  # limits the served apis and versions to those of this Kafka release
    authorizer: bool = False  # whether ACLs are stored and enforced, as by Kafka's StandardAuthorizer
    super_users: tuple[str, ...] = ()
    allow_without_acls: bool = False  # allow.everyone.if.no.acl.found
    sasl_mechanisms: tuple[str, ...] = ()  # for all listeners; without mechanisms, clients do not authenticate
    passwords: Mapping[str, str] = field(default_factory=dict, repr=False)  # the passwords of users
    max_reauth: float = 0.0  # connections.max.reauth.ms in seconds; 0 disables re-authentication
    tls: bool = False

    @property
    def most_ahead_ms(self) -> int:
        """By how much timestamps may be ahead of the broker's time, unless a topic sets
        `message.timestamp.after.max.ms`; without limit before Kafka 4.0."""
        is_limited = self.release is None or int(self.release.split(".")[0]) >= FIRST_RELEASE_WITH_LIMIT
        return int(TOPIC_CONFIGS["message.timestamp.after.max.ms"].default) if is_limited else _HIGHEST

    @property
    def protocol(self) -> str:
        """The security protocol that clients must use, named as in Kafka."""
        if self.sasl_mechanisms:
            return "SASL_SSL" if self.tls else "SASL_PLAINTEXT"
        return "SSL" if self.tls else "PLAINTEXT"


@dataclass(slots=True)
class LogDir:
    """A log directory of a broker.

    Attributes:
        disk: stores the logs.
        is_offline: whether it has failed.
        replicas: the number of replicas in the directory.
        is_stopped: whether its broker is stopped or unreachable.
        is_full: whether the next write fails.
        starts: the first offsets of partitions with records deleted by clients, by topic and partition index.
        problem: the system's reason for the failure, until the operator is notified; empty if a test caused it.
    """

    disk: Disk
    is_offline: bool = False
    replicas: int = 0
    is_stopped: bool = False
    is_full: bool = False
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether the directory can be read and written."""
        return not (self.is_offline or self.is_stopped)

    @property
    def path(self) -> str:
        """The path of the directory, as in the broker's `log.dirs`."""
        return self.disk.path


@dataclass(slots=True)
class Node:
    """A broker. Clients connect to `host` and `port`, or to the `advertised` address where another program forwards
    connections; a broker without a working directory is not alive.

    >>> node = Node(1, rack="/DC1/R1")
    >>> node.is_alive, node.broker().rack
    (True, '/DC1/R1')
    """

    node_id: int
    host: str = "localhost"
    port: int = 9092
    rack: str | None = None
    disks: Sequence[Disk] = field(default_factory=lambda: [MemoryDisk()])
    advertised: tuple[str, int] | None = None  # Kafka's advertised.listeners
    log_dirs: list[LogDir] = field(init=False)
    configs: dict[str, str] = field(init=False, default_factory=dict)  # of DYNAMIC_CONFIGS; not persisted

    def __post_init__(self) -> None:
        self.log_dirs = [LogDir(disk) for disk in self.disks]

    @property
    def address(self) -> tuple[str, int]:
        """The host and port that clients are given."""
        return self.advertised or (self.host, self.port)

    @property
    def is_alive(self) -> bool:
        """Whether the broker has a working log directory; a broker without one stops (KIP-112)."""
        return any(log_dir.works for log_dir in self.log_dirs)

    @property
    def is_stopped(self) -> bool:
        """Whether the broker was stopped or isolated, so that it can be started again."""
        return any(log_dir.is_stopped for log_dir in self.log_dirs)

    def set_stopped(self, is_stopped: bool) -> None:
        """Mark the broker as stopped or running."""
        for log_dir in self.log_dirs:
            log_dir.is_stopped = is_stopped

    def failed(self) -> LogDir | None:
        """Return a failed directory; None if all directories work."""
        return next((log_dir for log_dir in self.log_dirs if log_dir.is_offline), None)

    def broker(self) -> Broker:
        """Return the node as a `Broker` for replica placement."""
        return Broker(self.node_id, *self.address, self.rack, fenced=not self.is_alive)


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
        return int(self.takes), _HIGHEST if self.type == _LONG else 2**31 - 1

    @property
    def about(self) -> str:
        """The description of valid values, for error messages."""
        if isinstance(self.takes, str):
            return self.takes
        low, high = self.range
        return f"a number from {low} to {high}" if isinstance(self.takes, tuple) else f"a number from {low} or higher"


TOPIC_CONFIGS: Mapping[str, Config] = {
    "cleanup.policy": Config(_LIST, "delete", r"((delete|compact)(,(delete|compact))?)?"),
    "compression.gzip.level": Config(_INT, "-1", r"-1|[1-9]"),
    "compression.lz4.level": Config(_INT, "9", r"[1-9]|1[0-7]"),
    "compression.type": Config(_TEXT, "producer", "uncompressed|gzip|snappy|lz4|zstd|producer"),
    "compression.zstd.level": Config(_INT, "3", -131072),
    "delete.retention.ms": Config(_LONG, _DAY),
    "file.delete.delay.ms": Config(_LONG, "60000"),
    "flush.messages": Config(_LONG, str(_HIGHEST), 1),
    "flush.ms": Config(_LONG, str(_HIGHEST)),
    "follower.replication.throttled.replicas": Config(_LIST, "", _REPLICAS),
    "index.interval.bytes": Config(_INT, "4096"),
    "leader.replication.throttled.replicas": Config(_LIST, "", _REPLICAS),
    "local.retention.bytes": Config(_LONG, "-2", -2),
    "local.retention.ms": Config(_LONG, "-2", -2),
    "max.compaction.lag.ms": Config(_LONG, str(_HIGHEST), 1),
    "max.message.bytes": Config(_INT, "1048588"),
    "message.timestamp.after.max.ms": Config(_LONG, "3600000"),
    "message.timestamp.before.max.ms": Config(_LONG, str(_HIGHEST)),
    "message.timestamp.type": Config(_TEXT, "CreateTime", "CreateTime|LogAppendTime"),
    "min.cleanable.dirty.ratio": Config(_RATIO, "0.5", r"0(\.\d+)?|1(\.0+)?"),
    "min.compaction.lag.ms": Config(_LONG, "0"),
    "min.insync.replicas": Config(_INT, "1", 1),
    "preallocate": Config(_YES, "false", "true|false"),
    "remote.log.copy.disable": Config(_YES, "false", "true|false"),
    "remote.log.delete.on.disable": Config(_YES, "false", "true|false"),
    "remote.storage.enable": Config(_YES, "false", "true|false"),
    "retention.bytes": Config(_LONG, "-1", -1),
    "retention.ms": Config(_LONG, "-1", -1),
    "segment.bytes": Config(_INT, str(1 << 30), 14),
    "segment.index.bytes": Config(_INT, str(10 << 20), 4),
    "segment.jitter.ms": Config(_LONG, "0"),
    "segment.ms": Config(_LONG, _WEEK, 1),
    "unclean.leader.election.enable": Config(_YES, "false", "true|false"),
}


# Dynamic configs of brokers. They have no effect: these brokers copy no records over a network, and lack Kerberos.
DYNAMIC_CONFIGS: Mapping[str, Config] = {
    name: Config(_LONG, str(_HIGHEST))
    for name in (
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
} | {"sasl.kerberos.min.time.before.relogin": Config(_LONG, "60000")}


_DURATION = r"by_duration:P(?!$)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?"
# Configs of groups (KIP-848, KIP-932). Heartbeat intervals are shorter than Kafka's 5 s, which is too long for tests.
GROUP_CONFIGS: Mapping[str, Config] = {
    "consumer.heartbeat.interval.ms": Config(_INT, "500", (500, 15_000)),
    "consumer.session.timeout.ms": Config(_INT, "45000", (45_000, 60_000)),
    "share.auto.offset.reset": Config(_TEXT, "latest", rf"latest|earliest|{_DURATION}"),
    "share.delivery.count.limit": Config(_INT, "5", (2, 10)),
    "share.heartbeat.interval.ms": Config(_INT, "500", (500, 15_000)),
    "share.isolation.level": Config(_TEXT, "read_uncommitted", "read_committed|read_uncommitted"),
    "share.partition.max.record.locks": Config(_INT, "2000", (100, 10_000)),
    "share.record.lock.duration.ms": Config(_INT, "30000", (15_000, 60_000)),
    "share.renew.acknowledge.enable": Config(_YES, "true", "true|false"),
    "share.session.timeout.ms": Config(_INT, "45000", (45_000, 60_000)),
}


def checked(given: Iterable[tuple[str, str | None]], configs: Mapping[str, Config] = TOPIC_CONFIGS) -> dict[str, str]:
    """Validate and return the configs of a topic or another resource.

    Raises:
        InvalidConfig: a config is unknown, or its value is invalid.

    >>> checked([("retention.ms", "1000")])
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


def topic_defaults(settings: Settings) -> dict[str, str]:
    """Return the configs of a topic that sets none."""
    here = {
        "max.message.bytes": settings.max_message_bytes,
        "min.insync.replicas": settings.min_insync_replicas,
        "retention.bytes": settings.retention_bytes,
    }
    defaults = {name: config.default for name, config in TOPIC_CONFIGS.items()}
    return defaults | {name: str(value) for name, value in here.items()}


def _listener(settings: Settings, host: str, port: int) -> str:
    return f"{settings.protocol}://{host}:{port}"


BROKER_CONFIGS: Mapping[str, tuple[int, Callable[[Node, Settings], str | None]]] = {
    "advertised.listeners": (_TEXT, lambda node, settings: _listener(settings, *node.address)),
    "auto.create.topics.enable": (_YES, lambda node, settings: str(settings.auto_create_topics).lower()),
    "broker.id": (_INT, lambda node, settings: str(node.node_id)),
    "broker.rack": (_TEXT, lambda node, settings: node.rack),
    "default.replication.factor": (_INT, lambda node, settings: str(settings.default_replication_factor)),
    "delete.topic.enable": (_YES, lambda node, settings: "true"),
    "fetch.max.bytes": (_INT, lambda node, settings: str(settings.fetch_max_bytes)),
    "group.consumer.migration.policy": (_TEXT, lambda node, settings: settings.migration_policy),
    "listeners": (_TEXT, lambda node, settings: _listener(settings, node.host, node.port)),
    "log.dirs": (_TEXT, lambda node, settings: ",".join(log_dir.path for log_dir in node.log_dirs)),
    "log.retention.bytes": (_LONG, lambda node, settings: str(settings.retention_bytes)),
    "log.retention.ms": (_LONG, lambda node, settings: "-1"),
    "message.max.bytes": (_INT, lambda node, settings: str(settings.max_message_bytes)),
    "min.insync.replicas": (_INT, lambda node, settings: str(settings.min_insync_replicas)),
    "num.partitions": (_INT, lambda node, settings: str(settings.num_partitions)),
    "offset.metadata.max.bytes": (_INT, lambda node, settings: str(settings.offset_metadata_max_bytes)),
    "offsets.retention.check.interval.ms": (
        _LONG,
        lambda node, settings: str(settings.offsets_retention_check_interval_ms),
    ),
    "offsets.retention.minutes": (_INT, lambda node, settings: str(settings.offsets_retention_minutes)),
    "unclean.leader.election.enable": (_YES, lambda node, settings: "false"),
}


@dataclass(slots=True)
class Bucket:
    """The number of bytes by which a client exceeds its rate, at a time."""

    level: float = 0.0
    at: float = 0.0


@dataclass(slots=True)
class Quotas:
    """The client quotas, by entity and key.

    >>> quotas = Quotas({frozenset({(CLIENT, "c")}): {PRODUCE: 1000.0}})
    >>> [quotas.throttle(PRODUCE, "c", 1500, now) for now in (0.0, 0.0, 10.0)], quotas.throttle(PRODUCE, "d", 9999, 0.0)
    ([500, 2000, 500], 0)
    """

    values: dict[Entity, dict[str, float]] = field(default_factory=dict)
    _buckets: dict[tuple[str, str], Bucket] = field(default_factory=dict)

    def rate(self, key: str, client_id: str) -> float | None:
        """Return the rate limit of a client; None if it has none. As in Kafka, the most specific entity applies."""
        for user in (ANONYMOUS, None, ""):
            for client in (client_id, None, ""):
                names = ((USER, user), (CLIENT, client))
                found = self.values.get(frozenset(one for one in names if one[1] != ""), {}).get(key)
                if found is not None:
                    return found
        return None

    def throttle(self, key: str, client_id: str, size: int, now: float) -> int:
        """Count bytes of a client; return the throttle time in milliseconds. The bytes of one second are free."""
        if not self.values:
            return 0
        rate = self.rate(key, client_id)
        if rate is None or rate <= 0:
            return 0
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.clear()
        bucket = self._buckets.setdefault((key, client_id), Bucket(at=now))
        bucket.level = max(0.0, bucket.level - (now - bucket.at) * rate) + size
        bucket.at = now
        return max(0, int((bucket.level - rate) / rate * 1000))
