"""The read-only configs of a broker, and the defaults of topics, which follow from the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .configs import INT, LONG, TEXT, TOPIC_CONFIGS, YES
from .node import Node
from .settings import Settings


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
    "advertised.listeners": (TEXT, lambda node, settings: _listener(settings, *node.address)),
    "auto.create.topics.enable": (YES, lambda node, settings: str(settings.auto_create_topics).lower()),
    "broker.id": (INT, lambda node, settings: str(node.node_id)),
    "broker.rack": (TEXT, lambda node, settings: node.rack),
    "default.replication.factor": (INT, lambda node, settings: str(settings.default_replication_factor)),
    "delete.topic.enable": (YES, lambda node, settings: "true"),
    "fetch.max.bytes": (INT, lambda node, settings: str(settings.fetch_max_bytes)),
    "group.consumer.migration.policy": (TEXT, lambda node, settings: settings.migration_policy),
    "listeners": (TEXT, lambda node, settings: _listener(settings, node.host, node.port)),
    "log.dirs": (TEXT, lambda node, settings: ",".join(log_dir.path for log_dir in node.log_dirs)),
    "log.retention.bytes": (LONG, lambda node, settings: str(settings.retention_bytes)),
    "log.retention.ms": (LONG, lambda node, settings: "-1"),
    "message.max.bytes": (INT, lambda node, settings: str(settings.max_message_bytes)),
    "min.insync.replicas": (INT, lambda node, settings: str(settings.min_insync_replicas)),
    "num.partitions": (INT, lambda node, settings: str(settings.num_partitions)),
    "offset.metadata.max.bytes": (INT, lambda node, settings: str(settings.offset_metadata_max_bytes)),
    "offsets.retention.check.interval.ms": (
        LONG,
        lambda node, settings: str(settings.offsets_retention_check_interval_ms),
    ),
    "offsets.retention.minutes": (INT, lambda node, settings: str(settings.offsets_retention_minutes)),
    "unclean.leader.election.enable": (YES, lambda node, settings: "false"),
}
