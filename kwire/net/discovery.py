"""What a live broker tells of its cluster: Metadata, and DescribeCluster where it speaks that.

Knows which requests to send; what the answers mean is `kwire.cluster.learning`'s. Creates no topics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cluster import ClusterState, learn
from ..codecs import codec_in
from ..errors import CallError
from .connection import BrokerConnection


def ask_cluster(broker: BrokerConnection) -> ClusterState:
    """Ask a broker for brokers, racks and partitions.

    Args:
        broker: a connection to any broker of the cluster.

    Raises:
        CallError: it breaks off, is too slow, or speaks no Metadata that is known here.
        DecodeError: an answer does not decode.
    """
    state = ClusterState()
    if not _ask(broker, state, "MetadataRequest", _of_all_topics):
        raise CallError(str(broker.address), "it answers no version of Metadata that is known here", "is it a broker?")
    _ask(broker, state, "DescribeClusterRequest", _with_fenced_brokers)
    return state


def _of_all_topics(version: int) -> dict[str, Any]:
    creating = {"allowAutoTopicCreation": False} if version >= 4 else {}
    return {"topics": None if version >= 1 else [], **creating}


def _with_fenced_brokers(version: int) -> dict[str, Any]:
    return {"includeFencedBrokers": True} if version >= 2 else {}


def _ask(broker: BrokerConnection, state: ClusterState, name: str, members: Callable[[int], dict[str, Any]]) -> bool:
    """Ask in the newest version, and learn from the answer. Returns whether it told something."""
    version = broker.newest(name)
    if version is None:
        return False
    codec = codec_in(broker.catalog, name, version)
    answer = broker.ask(codec, codec.from_json(members(version), defaults=True))
    return answer is not None and learn(state, answer.message, answer.codec)
