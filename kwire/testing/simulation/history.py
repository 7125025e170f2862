"""The history of a simulation: what clients asked, what they were answered, and which faults happened when."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import NamedTuple, TypeVar


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True)
class HistoryEvent:
    """Something that a client or the cluster did. The history sets `time`, in seconds, and `client`, its name."""

    time: float = field(init=False, default=0.0)
    client: str = field(init=False, default="")

    def __str__(self) -> str:
        shown = (f"{member.name}={_format_value(getattr(self, member.name))}" for member in fields(self)[2:])
        return f"{self.time:9.3f}  {self.client:<12} {type(self).__name__:<18} {' '.join(shown)}"


def _format_value(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, TopicPartition):
        return str(value)
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_format_value, value))})"
    return str(value)


@dataclass(slots=True)
class Fault(HistoryEvent):
    """A fault begins or ends."""

    text: str


@dataclass(slots=True)
class BrokerRaised(HistoryEvent):
    """A broker raised an exception instead of an answer."""

    request: str
    error: str


@dataclass(slots=True)
class ProducerBegun(HistoryEvent):
    """InitProducerId gave a producer its id and epoch; with a transactional id, it fences its predecessors."""

    transactional_id: str | None
    producer_id: int
    epoch: int


@dataclass(slots=True)
class Sent(HistoryEvent):
    """A producer sends a batch for the first time. `transaction` names its transaction; None if it has none."""

    partition: TopicPartition
    producer_id: int
    epoch: int
    sequence: int
    values: tuple[bytes, ...]
    transaction: str | None = None


@dataclass(slots=True)
class Acknowledged(HistoryEvent):
    """A batch is acknowledged with acks=all; `offset` is that of its first record. `asked` is when the acknowledged
    request was sent."""

    partition: TopicPartition
    producer_id: int
    epoch: int
    offset: int
    values: tuple[bytes, ...]
    asked: float


@dataclass(slots=True)
class SequenceRefused(HistoryEvent):
    """A producer that retries in order is refused because of a sequence number."""

    partition: TopicPartition
    producer_id: int
    sequence: int
    code: int


@dataclass(slots=True)
class TransactionEnding(HistoryEvent):
    """A producer asks to end its transaction, for the first time; `offset` is what it commits for `group`."""

    transaction: str
    is_commit: bool
    group: str | None = None
    offset: int = -1


@dataclass(slots=True)
class TransactionEnded(HistoryEvent):
    """The end of a transaction is acknowledged; `asked` is when the acknowledged request was sent."""

    transaction: str
    is_commit: bool
    producer_id: int
    epoch: int
    asked: float


@dataclass(slots=True)
class Fenced(HistoryEvent):
    """A producer learns that it is fenced, or that its transaction timed out."""

    code: int


@dataclass(slots=True)
class Read(HistoryEvent):
    """A consumer reads records: offsets with values. `asked` is when the request was sent."""

    group: str
    partition: TopicPartition
    asked: float
    is_committed: bool
    high_watermark: int
    last_stable_offset: int
    records: tuple[tuple[int, bytes], ...]


@dataclass(slots=True)
class OffsetOutOfRange(HistoryEvent):
    """The position of a consumer is out of the range of the leader's log."""

    partition: TopicPartition
    offset: int


@dataclass(slots=True)
class OffsetCommitting(HistoryEvent):
    """A member sends a commit, which may be lost. `generation` is its generation or member epoch."""

    group: str
    partition: TopicPartition
    offset: int
    generation: int


@dataclass(slots=True)
class OffsetCommitted(HistoryEvent):
    """A commit is acknowledged."""

    group: str
    partition: TopicPartition
    offset: int
    generation: int


@dataclass(slots=True)
class OffsetFetched(HistoryEvent):
    """A member learns the committed offset; -1 if there is none. `asked` is when the request was sent."""

    group: str
    partition: TopicPartition
    offset: int
    asked: float


@dataclass(slots=True)
class Joined(HistoryEvent):
    """A member has joined a group, in a generation or member epoch."""

    group: str
    member_id: str
    generation: int


@dataclass(slots=True)
class MemberUnknown(HistoryEvent):
    """A group does not know a member (any more). `kept` is when the last request was sent that the group answered well,
    without partitions that the member must give up, and `timeout` its session timeout, in seconds."""

    group: str
    member_id: str
    kept: float
    timeout: float


@dataclass(slots=True)
class ShareDelivered(HistoryEvent):
    """A share consumer receives records: offsets with values and delivery counts."""

    group: str
    partition: TopicPartition
    asked: float
    records: tuple[tuple[int, bytes, int], ...]


@dataclass(slots=True)
class ShareAcknowledging(HistoryEvent):
    """A share consumer sends acknowledgements: offsets with types."""

    group: str
    partition: TopicPartition
    types: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class ShareAcknowledged(HistoryEvent):
    """The acknowledgements are answered; if `code` is 0, they hold."""

    group: str
    partition: TopicPartition
    types: tuple[tuple[int, int], ...]
    code: int


class LoggedBatch(NamedTuple):
    """A batch in the final log of a partition; `marker` is 0 for an abort, 1 for a commit, and -1 for data."""

    offset: int
    producer_id: int
    epoch: int
    marker: int
    values: tuple[bytes, ...]


@dataclass(slots=True)
class FinalLog(HistoryEvent):
    """What the leader of a partition has after all faults: all batches, and the values that read_committed returns."""

    partition: TopicPartition
    high_watermark: int
    last_stable_offset: int
    batches: tuple[LoggedBatch, ...]
    committed: tuple[tuple[int, bytes], ...]


@dataclass(slots=True)
class FinalGroup(HistoryEvent):
    """What a group is after all faults: its state, the partitions of each client, and its committed offsets."""

    group: str
    kind: str
    state: str
    members: tuple[tuple[str, tuple[int, ...]], ...]
    offsets: tuple[tuple[int, int], ...]


@dataclass(slots=True)
class StillMember(HistoryEvent):
    """A consumer runs when the simulation ends."""

    group: str


@dataclass(slots=True)
class Unfinished(HistoryEvent):
    """What a client has not finished after all faults."""

    text: str


E = TypeVar("E", bound=HistoryEvent)


@dataclass(slots=True)
class History:
    """The events of a simulation in the order of time; `str` gives one line for each."""

    events: list[HistoryEvent] = field(default_factory=list)

    def add(self, event: HistoryEvent, client: str, now: float) -> None:
        """Append an event."""
        event.client, event.time = client, now
        self.events.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one kind."""
        return [event for event in self.events if type(event) is kind]

    def __str__(self) -> str:
        return "\n".join(map(str, self.events))
