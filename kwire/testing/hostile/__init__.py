"""Hostile peers as test tools: a broker and a client that break the protocol, each in one way. Sans-IO."""

from .broker_kinds import BROKER_KINDS, BrokerKind, Exchange
from .client_kinds import CLIENT_KINDS, ClientKind
from .hostile_cluster import HostileCluster
from .steps import End, Step

__all__ = [
    "BROKER_KINDS",
    "CLIENT_KINDS",
    "BrokerKind",
    "ClientKind",
    "End",
    "Exchange",
    "HostileCluster",
    "Step",
]
