"""Deterministic simulation of brokers and clients under faults, with checkers of what Kafka promises.

>>> from kwire import testing
>>> testing.simulate(seed=7).check()
"""

from .checkers.invariants import INVARIANTS
from .checkers.violation import Invariant, Violation
from .client import Action, Client, ClientFactory, Close, Send, Wake
from .history import Acknowledged, History, HistoryEvent, Read, Sent, TopicPartition
from .result import SimulationFailure, SimulationResult, simulate
from .schedule import ClientPlan, PlannedFault, Schedule

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
