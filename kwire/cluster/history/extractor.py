"""What one observed message says of partitions and brokers, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...codecs import Codec
from ...protocol import Request, Response, Result
from ..draft_fields import RELEASED, Body, body_of
from ..learner import offline_in
from ..state import NO_LEADER
from ..zk_controller.requests import partition_states, stopped_partitions, topic_ids_in
from ..zk_controller.values import EPOCH_DURING_DELETE, LEADER_DURING_DELETE

FULL = 2  # the type of an UpdateMetadata request that lists all there is
LEADER_NOT_AVAILABLE, UNKNOWN_TOPIC = 5, 3
_NO_ID = bytes(16)
_NOWHERE = -3  # no leader of Kafka's


class State(NamedTuple):
    """A partition as a message has it; None for what it does not say. `offline` is in ascending order."""

    leader: int
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    offline: tuple[int, ...] | None = None
    topic_id: bytes | None = None

    @property
    def is_deleted(self) -> bool:
        """Whether it says that the partition is gone, or that its deletion has begun."""
        return self.leader in (LEADER_DURING_DELETE, _NOWHERE)

    def agrees(self, other: State) -> bool:
        """Whether two states are one, as far as both say something.

        >>> State(1, isr=(1,)).agrees(State(1, leader_epoch=4)), State(1, isr=(1,)).agrees(State(1, isr=(1, 2)))
        (True, False)
        """
        if self == other:
            return True
        if self.leader != other.leader or self.is_deleted:
            return False
        return all(mine is None or theirs is None or mine == theirs for mine, theirs in zip(self, other, strict=True))

    def is_older(self, other: State) -> bool:
        """Whether the epochs say that this was before another; of one leader epoch, the partition's decides."""
        if self.leader_epoch is None or other.leader_epoch is None:
            return False
        if self.leader_epoch != other.leader_epoch or self.partition_epoch is None or other.partition_epoch is None:
            return self.leader_epoch < other.leader_epoch
        return self.partition_epoch < other.partition_epoch

    def filled(self, other: State) -> State:
        """Return this with what only the other says."""
        if None not in self:
            return self
        pairs: Iterator[Any] = zip(self, other, strict=True)
        return State(*(theirs if mine is None else mine for mine, theirs in pairs))


# Leader -2 begins a deletion, which waits for replicas that are offline; a topic that nobody lists any more is deleted.
DELETION_BEGUN, DELETED = State(LEADER_DURING_DELETE), State(_NOWHERE)


class Event(NamedTuple):
    """What is said of one partition; of a whole topic, where `partition` is None."""

    topic: str
    partition: int | None
    state: State


@dataclass(frozen=True, slots=True)
class Listed:
    """A live broker. `endpoints` are `LISTENER://host:port`, without the listener where nobody said it."""

    node_id: int
    rack: str | None
    endpoints: tuple[str, ...]


def events_of_controller(body: Body) -> Iterator[Event]:
    """Yield what a LeaderAndIsr, UpdateMetadata or StopReplica request says."""
    message = body.message
    if type(message).__name__ == "StopReplicaRequest":
        for (topic, index), _, epoch in stopped_partitions(message):
            if epoch == EPOCH_DURING_DELETE:
                yield Event(topic, index, DELETION_BEGUN)
        return
    ids = topic_ids_in(message)
    for (topic, index), one in partition_states(message):
        state = State(
            one.leader,
            one.leader_epoch,
            one.zk_version if hasattr(one, "zk_version") else one.partition_epoch,
            tuple(one.isr),
            tuple(one.replicas),
            _offline(body, one),
            _known(ids.get(topic)),
        )
        yield Event(topic, index, DELETION_BEGUN if state.is_deleted else state)


def events_of_view(body: Body) -> Iterator[Event]:
    """Yield what a Metadata or DescribeTopicPartitions response says: the view of one broker, for one client.

    A leader that the broker does not reach on the client's listener is none of the partition's (error 72), so of
    partitions with errors only those without a leader (5) are told of; the lists of a version that knows no internal
    topics leave out brokers that are down.
    """
    for topic in body.message.topics:
        if topic.error_code == UNKNOWN_TOPIC and topic.name is not None:
            yield Event(topic.name, None, DELETED)
        for one in topic.partitions:
            if one.error_code in (0, LEADER_NOT_AVAILABLE):
                name = topic.name or bytes(topic.topic_id).hex()
                yield Event(name, one.partition_index, _seen(body, one, bytes(topic.topic_id)))


def _seen(body: Body, one: Any, topic_id: bytes) -> State:
    tells_lists = "topics.is_internal" in body.fields or one.error_code == 0
    return State(
        NO_LEADER if one.error_code else one.leader_id,
        one.leader_epoch if one.leader_epoch >= 0 else None,
        None,
        tuple(one.isr_nodes) if tells_lists else None,
        tuple(one.replica_nodes) if tells_lists else None,
        _offline(body, one),
        _known(topic_id),
    )


def _offline(body: Body, one: Any) -> tuple[int, ...] | None:
    offline = offline_in(body, one)
    return None if offline is None else tuple(sorted(offline))


def listed_by_controller(body: Body) -> tuple[Listed, ...]:
    """Return the live brokers that an UpdateMetadata request lists."""
    brokers = body.message.live_brokers
    if "live_brokers.endpoints" not in body.fields:
        return tuple(Listed(one.id, None, (_address(one.v0_host, one.v0_port),)) for one in brokers)
    return tuple(
        Listed(one.id, one.rack or None, tuple(_endpoint(where) for where in one.endpoints)) for one in brokers
    )


def listed_by_view(body: Body) -> tuple[Listed, ...]:
    """Return the live brokers that a Metadata response lists, each with the endpoint of the client's listener."""
    brokers = getattr(body.message, "brokers", ())  # DescribeTopicPartitions lists none
    return tuple(Listed(one.node_id, one.rack or None, (_address(one.host, one.port),)) for one in brokers)


def _endpoint(one: Any) -> str:
    address = _address(one.host, one.port)
    return f"{one.listener}://{address}" if one.listener else address


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _known(topic_id: bytes | None) -> bytes | None:
    return None if topic_id == _NO_ID else topic_id


CONTROLLER = "LeaderAndIsrRequest", "UpdateMetadataRequest", "StopReplicaRequest"
ANSWERS = "LeaderAndIsrResponse", "UpdateMetadataResponse", "StopReplicaResponse"
VIEWS = "MetadataResponse", "DescribeTopicPartitionsResponse"
DIRECTORIES = "BrokerHeartbeatRequest", "BrokerRegistrationRequest", "AssignReplicasToDirsRequest"
MESSAGES = (*CONTROLLER, *ANSWERS, *VIEWS, *DIRECTORIES)  # what the history is made of


@dataclass(frozen=True, slots=True)
class Observation:
    """One of `MESSAGES`.

    Attributes:
        message: the decoded body, of a draft's class too; None where it could not be decoded.
        codec: what decoded it; of a released message its version is enough.
        time: in seconds since 1970; None where nobody wrote it down.
        client, broker: the ends of its connection as `ip:port`; nothing where they are not known.
        correlation_id: that of its header.
        file: where it was read.
    """

    message: Any
    codec: Codec | int
    time: float | None = None
    client: str = ""
    broker: str = ""
    correlation_id: int | None = None
    file: str = ""

    @property
    def name(self) -> str:
        """The name of the released message: `UpdateMetadataRequest`."""
        name = self.codec.name if isinstance(self.codec, Codec) else type(self.message).__name__
        return RELEASED.get(name, name)

    @property
    def body(self) -> Body:
        """The message under its released names, with the fields that it carries."""
        return body_of(self.message, self.codec)

    @property
    def connection(self) -> str:
        """What tells its connection from others."""
        return f"{self.client}>{self.broker}"


def heard(result: Result) -> Observation | None:
    """Return what a decoded frame lets one hear; None for those that are of no use here."""
    if not isinstance(result, Request | Response):
        return None
    source = result.frame.source
    found = Observation(
        result.message,
        result.codec,
        source.time,
        source.client or "",
        source.broker or "",
        result.correlation_id,
        source.file or "",
    )
    return found if found.name in MESSAGES else None
