"""The state of a cluster as metrics in Prometheus' text format: KIP-112's two, and what alerts need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...cluster import ClusterState

Samples = Iterable[tuple[Mapping[str, object], int]]  # labels and a value


def prometheus_lines(state: ClusterState) -> Iterator[str]:
    """Yield the metrics of a state, each with its help.

    >>> from kwire.cluster import Partition
    >>> state = ClusterState()
    >>> state.put(Partition("orders", 0, leader=-1, replicas=(1,), isr=(1,)))
    >>> [line for line in prometheus_lines(state) if line.startswith("kwire_partitions_leaderless")]
    ['kwire_partitions_leaderless 1']
    """
    partitions = state.partitions()
    brokers = state.brokers or {}
    counts = {
        "partitions": ("Partitions.", len(partitions)),
        "partitions_leaderless": ("Partitions without a leader.", len(state.leaderless())),
        "partitions_under_replicated": ("Partitions with replicas out of sync.", len(state.under_replicated())),
        "partitions_under_min_isr": ("Partitions below min.insync.replicas.", len(state.under_min_isr())),
        "partitions_offline_replicas": (
            "Partitions with offline replicas.",
            sum(bool(state.offline(partition)) for partition in partitions),
        ),
        "partitions_reassigning": (
            "Partitions that are being reassigned.",
            sum(partition.is_reassigned for partition in partitions),
        ),
        "partitions_being_deleted": (
            "Partitions whose deletion has begun.",
            sum(partition.deleting is not None for partition in partitions),
        ),
        "partitions_not_preferred_leader": (
            "Partitions that another replica leads than the first.",
            sum(partition.has_leader and partition.leader != partition.preferred for partition in partitions),
        ),
        "controller_id": ("The id of the controller; -1 for none.", state.controller_id),
        "brokers": ("Brokers that are registered.", len(brokers)),
        "brokers_fenced": ("Brokers that are fenced.", sum(broker.fenced for broker in brokers.values())),
    }
    for name, (text, value) in counts.items():
        yield from _metric(f"kwire_{name}", text, [({}, value)])
    offline = dict.fromkeys(brokers, 0)
    for partition in partitions:
        for node_id in state.offline(partition):
            offline[node_id] = offline.get(node_id, 0) + 1
    # Kafka's names of KIP-112's metrics, as its JMX exporter has them and `kwire serve --metrics`.
    yield from _metric(
        "kafka_server_replicamanager_offlinereplicacount", "KIP-112: offline replicas of a broker.", _by_broker(offline)
    )
    yield from _metric(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "KIP-112: offline log directories of a broker.",
        _by_broker(state.offline_dirs),
    )
    for name, text, attribute in (
        ("bytes", "Bytes of replicas in a log directory.", None),
        ("volume_bytes", "Size of its volume.", "total"),
        ("usable_bytes", "Usable space of its volume.", "usable"),
    ):
        yield from _metric(f"kwire_log_directory_{name}", text, _of_directories(state, attribute))


def _by_broker(values: Mapping[int, int]) -> Samples:
    return [({"broker": node_id}, value) for node_id, value in sorted(values.items())]


def _of_directories(state: ClusterState, attribute: str | None) -> Samples:
    for node_id, directories in sorted(state.log_dirs.items()):
        for path, log_dir in directories.items():
            value = sum(log_dir.sizes.values()) if attribute is None else getattr(log_dir, attribute)
            if value >= 0:
                yield {"broker": node_id, "path": path}, value


def _metric(name: str, text: str, samples: Samples) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} gauge"
    for labels, value in samples:
        shown = ",".join(f'{label}="{_escape_label(str(content))}"' for label, content in labels.items())
        yield f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escape_label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
