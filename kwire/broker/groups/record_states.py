"""The states of a share partition's records: in flight, as they are stored, and as dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import inf
from typing import NamedTuple


class RecordState(IntEnum):
    """The delivery state of a record; the numbers are those in records of `__share_group_state`."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVING = 3  # is being written to a dead letter topic (KIP-1191)
    ARCHIVED = 4


class AcknowledgeType(IntEnum):
    """The acknowledgement types of records (KIP-932, KIP-1222); a gap is an offset without a record."""

    GAP = 0
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


ENDED = (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)


class ShareStateBatch(NamedTuple):
    """A range of offsets with the same stored state."""

    first: int
    last: int
    state: RecordState
    deliveries: int


class ShareSnapshot(NamedTuple):
    """The stored state of a partition: its start offset, the number of later records with a final state, and the
    records' states.
    """

    start: int = -1
    ended: int = 0
    batches: tuple[ShareStateBatch, ...] = ()


NOTHING = ShareSnapshot()


@dataclass(slots=True)
class InFlightRecord:
    """A record that is in flight: it was delivered at least once.

    Attributes:
        state: the delivery state.
        count: the number of deliveries.
        together: the number of records with which it was first delivered.
        member: the id of the member that has acquired it.
        until: when its lock expires.
    """

    state: RecordState
    count: int
    together: int = 1
    member: str = ""
    until: float = inf


UNSEEN = InFlightRecord(RecordState.AVAILABLE, 0)  # a record that was not delivered yet


class DeadLetter(NamedTuple):
    """A record that is to be written to a dead letter topic (KIP-1191): its offset, the number of its deliveries, and
    why it could not be processed; empty if that was before a restart."""

    offset: int
    deliveries: int
    cause: str
