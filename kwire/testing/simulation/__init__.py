"""Deterministic simulation of brokers and clients under faults, with checkers of what Kafka promises.

>>> from kwire import testing
>>> testing.simulate(seed=7).check()
"""

from .client import Action, Client, ClientFactory, Close, Send, Wake
from .history import Acknowledged, History, HistoryEvent, Read, Sent, TopicPartition
from .checkers.invariants import INVARIANTS
from .result import SimulationFailure, SimulationResult, simulate
from .schedule import ClientPlan, PlannedFault, Schedule
from .checkers.violation import Invariant, Violation

__all__ = [
    "INVARIANTS",
    "Acknowledged",
    "Action",
    "Client",
    "ClientFactory",
    "ClientPlan",
    "Close",
    "History",
    "HistoryEvent",
    "Invariant",
    "PlannedFault",
    "Read",
    "Schedule",
    "Send",
    "Sent",
    "SimulationFailure",
    "SimulationResult",
    "TopicPartition",
    "Violation",
    "Wake",
    "simulate",
]
