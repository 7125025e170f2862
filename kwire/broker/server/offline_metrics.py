"""KIP-112's metrics of a served cluster over HTTP, for Prometheus: offline replicas and log directories.

They have the names that Prometheus's JMX exporter gives Kafka's MBeans.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from ...client.call_errors import call_errors
from ...errors import MissingExtra
from .. import ServedCluster
from .control_http import HOST

REPLICAS = "kafka_server_replicamanager_offlinereplicacount", "replicas in log directories that are offline"
DIRECTORIES = "kafka_log_logmanager_offlinelogdirectorycount", "log directories that are offline"
COUNT_PATIENCE = 5.0  # seconds in which the cluster is to be counted


def offline_counts(cluster: ServedCluster) -> dict[int, tuple[int, int]]:
    """Return how many replicas and log directories are offline, by broker; a stopped broker has no metrics."""
    counts = {
        node_id: (0, sum(log_dir.is_offline for log_dir in node.log_dirs))
        for node_id, node in cluster.controller.nodes.items()
        if not node.is_stopped
    }
    for partition in cluster.controller.partitions():
        for node_id, replica in partition.replicas.items():
            if node_id in counts and replica.log_dir.is_offline:
                replicas, directories = counts[node_id]
                counts[node_id] = replicas + 1, directories
    return counts


class MetricsServer:
    """Serves the metrics on a port of this machine, in a thread of its own.

    Args:
        cluster: the cluster to measure, in the running event loop.
        port: the port; 0 for any free port.

    Attributes:
        url: the URL of the metrics.

    Raises:
        MissingExtra: prometheus_client is not installed.
        CallError: the port is taken.
    """

    def __init__(self, cluster: ServedCluster, port: int) -> None:
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError:
            raise MissingExtra("kwire serve --metrics", "prometheus_client", "metrics") from None
        self._cluster, self._loop = cluster, asyncio.get_running_loop()
        registry = CollectorRegistry()
        with call_errors(f"{HOST}:{port}", "cannot listen", "is the port taken?"):
            self._server, self._thread = start_http_server(port, HOST, registry)
        registry.register(self)
        self.url: str = f"http://{HOST}:{self._server.server_port}/metrics"

    def describe(self) -> list[Any]:
        """Return no descriptions, because the registry asks for them at registration, before metrics can be counted."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield both metrics, counted in the cluster's event loop."""
        from prometheus_client.core import GaugeMetricFamily

        counts = asyncio.run_coroutine_threadsafe(self._count(), self._loop).result(COUNT_PATIENCE)
        for index, (name, about) in enumerate((REPLICAS, DIRECTORIES)):
            family = GaugeMetricFamily(name, about, labels=["broker"])
            for node_id, node_counts in sorted(counts.items()):
                family.add_metric([str(node_id)], node_counts[index])
            yield family

    async def _count(self) -> dict[int, tuple[int, int]]:
        return offline_counts(self._cluster)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
