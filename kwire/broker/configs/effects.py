"""What kwire does with each broker config: honours it, accepts it without effect, or refuses a value of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from .definitions import BROKER, TOPIC, definitions_of


class Effect(Enum):
    """What kwire does with a config."""

    HONOURED = "honoured"
    NONE = "no effect"
    REFUSED = "refused"
    UNKNOWN = "unknown"


# The topic configs that change what the brokers do; their broker synonyms do, too.
HONOURED_TOPIC_CONFIGS = frozenset(
    "cleanup.policy delete.retention.ms errors.deadletterqueue.group.enable flush.messages flush.ms"
    " max.compaction.lag.ms max.message.bytes message.timestamp.after.max.ms message.timestamp.before.max.ms"
    " message.timestamp.type min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas retention.bytes"
    " retention.ms segment.bytes segment.ms".split()
)
# Broker configs that are fields of `Settings`: the field, and how many of the config's units are one of the field's.
FIELDS: Mapping[str, tuple[str, int]] = {
    "allow.everyone.if.no.acl.found": ("allow_without_acls", 1),
    "auto.create.topics.enable": ("auto_create_topics", 1),
    "connections.max.idle.ms": ("connections_max_idle", 1000),
    "connections.max.reauth.ms": ("max_reauth", 1000),
    "default.replication.factor": ("default_replication_factor", 1),
    "delete.topic.enable": ("delete_topics", 1),
    "fetch.max.bytes": ("fetch_max_bytes", 1),
    "group.consumer.heartbeat.interval.ms": ("consumer_heartbeat_interval", 1000),
    "group.consumer.max.size": ("consumer_group_max_size", 1),
    "group.consumer.migration.policy": ("migration_policy", 1),
    "group.consumer.session.timeout.ms": ("consumer_session_timeout", 1000),
    "group.initial.rebalance.delay.ms": ("initial_rebalance_delay", 1000),
    "group.max.session.timeout.ms": ("max_session_timeout", 1000),
    "group.max.size": ("classic_group_max_size", 1),
    "group.min.session.timeout.ms": ("min_session_timeout", 1000),
    "log.retention.bytes": ("retention_bytes", 1),
    "log.retention.ms": ("retention_ms", 1),
    "max.connections.per.ip": ("max_connections_per_ip", 1),
    "max.incremental.fetch.session.cache.slots": ("max_fetch_sessions", 1),
    "max.request.partition.size.limit": ("max_described_partitions", 1),
    "message.max.bytes": ("max_message_bytes", 1),
    "min.insync.replicas": ("min_insync_replicas", 1),
    "num.partitions": ("num_partitions", 1),
    "offset.metadata.max.bytes": ("offset_metadata_max_bytes", 1),
    "offsets.retention.check.interval.ms": ("offsets_retention_check_interval_ms", 1),
    "offsets.retention.minutes": ("offsets_retention_minutes", 1),
    "offsets.topic.num.partitions": ("internal_partitions", 1),
    "socket.request.max.bytes": ("max_request_bytes", 1),
    "transaction.max.timeout.ms": ("max_transaction_timeout_ms", 1),
}
# The broker configs with `min.insync.replicas` of new internal topics, which brokers set when they create them (4.4.0:
# both in CreateTopics requests of AutoTopicCreationManager); `__consumer_offsets` has the default of all topics.
INTERNAL_MIN_ISR: Mapping[str, str] = {
    "__transaction_state": "transaction.state.log.min.isr",
    "__share_group_state": "share.coordinator.state.topic.min.isr",
}
# Honoured by others than `Settings`: the brokers' addresses, directories and racks; users; bounds of groups' configs.
OTHER_HONOURED = frozenset(
    "advertised.listeners authorizer.class.name broker.id broker.rack"
    " errors.deadletterqueue.auto.create.topics.enable errors.deadletterqueue.topic.name.prefix listeners log.dir"
    " log.dirs log.retention.hours log.retention.minutes log.roll.hours node.id replica.selector.class"
    " super.users".split()
)
BOUNDS: Mapping[str, tuple[str | None, str]] = (
    {  # of group configs: the broker configs with the lowest and highest value
        f"{kind}.{name}": (f"group.{kind}.min.{name}", f"group.{kind}.max.{name}")
        for kind, names in {
            "consumer": ("assignment.interval.ms", "heartbeat.interval.ms", "session.timeout.ms"),
            "share": (
                "assignment.interval.ms",
                "heartbeat.interval.ms",
                "session.timeout.ms",
                "record.lock.duration.ms",
                "delivery.count.limit",
                "partition.max.record.locks",
            ),
            "streams": ("assignment.interval.ms", "heartbeat.interval.ms", "session.timeout.ms"),
        }.items()
        for name in names
    }
    | {"streams.num.standby.replicas": (None, "group.streams.max.standby.replicas")}
)
# Values that kwire cannot act upon: patterns of the values that it takes.
REFUSALS: Mapping[str, tuple[str, str]] = {
    "alter.config.policy.class.name": (r"", "policies written in Java cannot be loaded"),
    "authorizer.class.name": (r"|.*(StandardAuthorizer|AclAuthorizer)", "take Kafka's StandardAuthorizer"),
    "client.quota.callback.class": (r"", "callbacks written in Java cannot be loaded"),
    "create.topic.policy.class.name": (r"", "policies written in Java cannot be loaded"),
    "process.roles": (r"|(.*\W)?broker(\W.*)?", "kwire serves brokers, not controllers alone"),
    "remote.log.storage.system.enable": (r"(?i:false)", "there is no tiered storage"),
    "replica.selector.class": (r"|.*(RackAware|Leader)(Replica)?Selector", "take RackAwareReplicaSelector"),
    "transaction.two.phase.commit.enable": (r"(?i:false)", "there is no two-phase commit"),
}
# The configs that each broker has of its own, which a file for `kwire serve --config` has.
OF_ONE_BROKER = (
    "advertised.listeners",
    "broker.id",
    "broker.rack",
    "controller.listener.names",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "node.id",
    "process.roles",
)
_PREFIXES = ("listener.name.", "rsm.config.", "rlmm.config.", "config.providers.", "metrics.jmx.")


def refusal(name: str, value: str) -> str:
    """Return why a value of a broker config is refused; empty if it is not."""
    pattern, reason = REFUSALS.get(name, ("", ""))
    return "" if name not in REFUSALS or re.fullmatch(pattern, value.strip()) else reason


def effect_of(name: str, release: str | None = None) -> Effect:
    """Return what kwire does with a broker config; values that it refuses are in `REFUSALS`.

    >>> effect_of("message.max.bytes"), effect_of("num.io.threads"), effect_of("log.retention.mss")
    (<Effect.HONOURED: 'honoured'>, <Effect.NONE: 'no effect'>, <Effect.UNKNOWN: 'unknown'>)
    """
    topic = definitions_of(TOPIC, release)
    of_topics = (synonym for name in HONOURED_TOPIC_CONFIGS if name in topic for synonym in topic[name].synonyms)
    if name in FIELDS or name in OTHER_HONOURED or name in INTERNAL_MIN_ISR.values() or name in of_topics:
        return Effect.HONOURED
    if name in (bound for bounds in BOUNDS.values() for bound in bounds) or name in GROUP_DEFAULTS:
        return Effect.HONOURED
    if name in REFUSALS:
        return Effect.REFUSED
    is_known = name in definitions_of(BROKER, None) or name in definitions_of(BROKER, "3.9")
    return Effect.NONE if is_known or name.startswith(_PREFIXES) else Effect.UNKNOWN


# The broker configs with the defaults of share groups and streams groups, which every such group reads.
GROUP_DEFAULTS = frozenset(
    f"group.{name}"
    for name in (*BOUNDS, "streams.initial.rebalance.delay.ms")
    if name.startswith(("share.", "streams.")) and name != "share.assignment.interval.ms"
)
