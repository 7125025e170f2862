"""One partition on one broker: leader or follower, the ISR and the high watermark. Knows no directories, no messages.

The leader counts a record as committed when all in the ISR have it; the ISR counts from when ZooKeeper has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .logs import PartitionLog, Record
from .values import NO_EPOCH, NO_LEADER, LeaderAndIsr


@dataclass(frozen=True, slots=True)
class Fetch:
    """What a follower asks its leader: which epoch it knows, where its log ends, and the epoch of its last record."""

    replica: int
    leader_epoch: int
    offset: int
    last_epoch: int


@dataclass(frozen=True, slots=True)
class Fetched:
    """The leader's answer: records behind the follower's end, or where its log has to be cut off first."""

    records: tuple[Record, ...] = ()
    high_watermark: int = 0
    cut_at: int | None = None


@dataclass(slots=True)
class Partition:
    """A replica that a broker serves, or is to serve: its log is None until there is one."""

    broker_id: int
    log: PartitionLog | None = None
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()
    state: LeaderAndIsr = field(default_factory=lambda: LeaderAndIsr(NO_LEADER, ()))
    ends: dict[int, int] = field(default_factory=dict)
    epoch_start: int = 0

    @property
    def is_leader(self) -> bool:
        """Whether this replica leads."""
        return self.leader == self.broker_id

    def become(self, state: LeaderAndIsr, replicas: tuple[int, ...]) -> None:
        """Lead or follow, as a LeaderAndIsrRequest says."""
        self.leader, self.leader_epoch, self.replicas, self.state = state.leader, state.leader_epoch, replicas, state
        self.ends = {}
        self.epoch_start = self.log.end_offset if self.log is not None else 0
        self._advance()

    def append(self, values: list[Any]) -> int:
        """Write records as the leader; returns the offset of the first."""
        assert self.log is not None
        first = self.log.end_offset
        self.log.append([(self.leader_epoch, value) for value in values])
        self._advance()
        return first

    def fetch(self) -> Fetch:
        """Return what to ask the leader next."""
        assert self.log is not None
        return Fetch(self.broker_id, self.leader_epoch, self.log.end_offset, self.log.last_epoch)

    def answer(self, asked: Fetch) -> Fetched | None:
        """Answer a follower; None if this replica does not lead in the epoch that it knows."""
        if not self.is_leader or self.log is None or asked.leader_epoch != self.leader_epoch:
            return None
        if not self.log.agrees_at(asked.offset, asked.last_epoch):
            return Fetched(cut_at=min(self.log.end_offset_for(asked.last_epoch), asked.offset - 1))
        self.ends[asked.replica] = asked.offset
        self._advance()
        return Fetched(tuple(self.log.records[asked.offset :]), self.log.high_watermark)

    def follow(self, asked: Fetch, told: Fetched) -> bool:
        """Take the leader's answer; returns whether it still is an answer to what this replica would ask."""
        if self.log is None or self.is_leader or asked != self.fetch():
            return False
        if told.cut_at is not None:
            self.log.truncate(told.cut_at)
            return True
        self.log.append(told.records)
        self.log.high_watermark = max(self.log.high_watermark, min(told.high_watermark, self.log.end_offset))
        return True

    def caught_up(self) -> tuple[int, ...]:
        """Return the replicas that are not in the ISR and might be: they have all that may be committed.

        The high watermark of a new leader may lag, so they must also have what it had when its epoch began (KIP-101).
        """
        if not self.is_leader or self.log is None:
            return ()
        least = max(self.log.high_watermark, self.epoch_start)
        return tuple(one for one in self.replicas if one not in self.state.isr and self.ends.get(one, -1) >= least)

    def isr_written(self, state: LeaderAndIsr) -> None:
        """Take an ISR that ZooKeeper has."""
        self.state = state
        self._advance()

    def with_isr(self, isr: tuple[int, ...]) -> LeaderAndIsr:
        """Return the state with another ISR, under the same leader epoch."""
        return replace(self.state, isr=isr)

    def _advance(self) -> None:
        if not self.is_leader or self.log is None:
            return
        ends = [self.log.end_offset if one == self.broker_id else self.ends.get(one, 0) for one in self.state.isr]
        self.log.high_watermark = max(self.log.high_watermark, min(ends, default=0))
