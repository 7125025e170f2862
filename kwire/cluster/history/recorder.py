"""Messages of one cluster in, tables of its history out; refused requests are left out, missing sources are named."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..zk_controller.requests import partition_errors, topic_ids_in
from ..zk_controller.values import KAFKA_STORAGE_ERROR, NONE, STALE_CONTROLLER_EPOCH
from . import extractor as told
from .extractor import CONTROLLER, DELETED, DIRECTORIES, MESSAGES, VIEWS, Event, Observation
from .offline_replicas import Answer, Directories, Offline
from .tables import Racks, Source, Tables, lives, shrinks, states
from .timeline import LAG, Brokers, Moment, Timeline

MOST = 10_000  # messages that wait at a time
_ANSWERED = {"LeaderAndIsrRequest", "StopReplicaRequest", "UpdateMetadataRequest"}


class Judged(NamedTuple):
    """A message, and whether it is a request that the broker refused since its controller's time is over."""

    heard: Observation
    is_refused: bool = False


def judged(messages: Iterable[Observation], most: int = MOST) -> Iterator[Judged]:
    """Yield messages in their order, as soon as it is known whether they were refused.

    Args:
        messages: in their order.
        most: how many may wait for an answer.
    """
    queue: deque[Observation] = deque()
    verdicts: dict[int, bool] = {}  # by the identity of a request in the queue
    asked: dict[tuple[str, int | None], Observation] = {}
    for heard in messages:
        queue.append(heard)
        key = heard.connection, heard.correlation_id
        if heard.name in _ANSWERED:
            asked[key] = heard
        elif key in asked and _answers(heard, asked[key]):
            verdicts[id(asked.pop(key))] = getattr(heard.message, "error_code", 0) == STALE_CONTROLLER_EPOCH
        while queue and (_is_ripe(queue[0], heard, verdicts) or len(queue) > most):
            yield _judge(queue.popleft(), verdicts, asked)
    while queue:
        yield _judge(queue.popleft(), verdicts, asked)


def _answers(response: Observation, request: Observation) -> bool:
    return response.name == request.name.removesuffix("Request") + "Response"


def _is_ripe(first: Observation, last: Observation, verdicts: dict[int, bool]) -> bool:
    if first.name not in _ANSWERED or id(first) in verdicts:
        return True
    return first.time is not None and last.time is not None and last.time - first.time > LAG


def _judge(heard: Observation, verdicts: dict[int, bool], asked: dict[tuple[str, int | None], Observation]) -> Judged:
    key = heard.connection, heard.correlation_id
    if asked.get(key) is heard:
        del asked[key]
    return Judged(heard, verdicts.pop(id(heard), False))


SEPARATOR = "; "  # between the sentences of a note
NO_CONTROLLER = (
    "no controller was captured (LeaderAndIsr, UpdateMetadata, StopReplica): states are those that clients were told "
    "when they asked, and replicas are offline as far as Metadata, DescribeTopicPartitions and BrokerHeartbeat say it"
)


@dataclass(slots=True)
class _Count:
    """Messages of one kind in one file."""

    decoded: int = 0
    undecodable: int = 0
    first: float | None = None
    last: float | None = None
    cluster_ids: set[str] = field(default_factory=set)


class Sources:
    """Counts messages by name and file."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], _Count] = {}

    def add(self, heard: Observation) -> None:
        """Count a message; those that tell of no cluster are passed over."""
        if heard.name not in MESSAGES:
            return
        count = self._counts.setdefault((heard.name, heard.file), _Count())
        count.undecodable += heard.message is None
        count.decoded += heard.message is not None
        cluster_id = getattr(heard.message, "cluster_id", None)
        if cluster_id:
            count.cluster_ids.add(cluster_id)
        if heard.time is not None:
            count.first = heard.time if count.first is None else min(count.first, heard.time)
            count.last = heard.time if count.last is None else max(count.last, heard.time)

    def rows(self, directories: Directories) -> Iterator[Source]:
        """Yield a row for each kind of message in each file, by name."""
        names = {name for name, _ in self._counts}
        for (name, file), one in sorted(self._counts.items(), key=lambda item: item[0]):
            note = SEPARATOR.join(_notes(name, one.undecodable, names, directories)) or None
            ids = tuple(sorted(one.cluster_ids))
            yield Source(name, file, one.decoded, one.undecodable, one.first, one.last, ids, note)


def _notes(name: str, undecodable: int, names: set[str], directories: Directories) -> Iterator[str]:
    if undecodable:
        yield f"{undecodable} could not be decoded and are missing (drafts need the option profile)"
    if name in (*VIEWS, *DIRECTORIES) and not names & set(CONTROLLER):
        yield NO_CONTROLLER
    unknown = ", ".join(f"{count} of broker {broker}" for broker, count in directories.without_replicas())
    if unknown and name == "BrokerHeartbeatRequest":
        yield f"which replicas lie in the failed log directories ({unknown}) was not captured"


def files_of_ids(rows: Iterable[tuple[str, Iterable[str]]]) -> dict[str, str]:
    """Return each cluster id with the first file that names it.

    Args:
        rows: files, with the cluster ids that they name.

    >>> files_of_ids([("b.pcap", ["x"]), ("a.pcap", ["x", "y"])])
    {'x': 'a.pcap', 'y': 'a.pcap'}
    """
    found: dict[str, str] = {}
    for file, ids in sorted((file, tuple(ids)) for file, ids in rows):
        for cluster_id in ids:
            found.setdefault(cluster_id, file)
    return found


class History:
    """The history of one cluster.

    Attributes:
        brokers: its brokers.
        stories: of its partitions, by topic and index.
        sources: the messages that were read.
        term: the highest controller epoch; what controllers of earlier terms say is not believed.

    >>> from kwire import messages
    >>> history = History()
    >>> history.hear(Observation(messages.StopReplicaRequest(controller_epoch=3), 3, time=1.0))
    >>> history.term, history.tables().partition_states
    (3, ())
    """

    def __init__(self) -> None:
        self.brokers: Brokers = Brokers()
        self.stories: dict[tuple[str, int], Timeline] = {}
        self.term = -1
        self._count = 0
        self._names: dict[bytes, str] = {}
        self._answers: dict[tuple[str, int], list[Answer]] = {}
        self._latest: dict[tuple[tuple[str, int], int | None], tuple[bool, int]] = {}
        self._directories = Directories()
        self.sources: Sources = Sources()

    def hear(self, heard: Observation, is_refused: bool = False) -> None:
        """Take down a message.

        Args:
            heard: the next one in the order of time, or of the file where there are no times.
            is_refused: whether it is a request that was answered with STALE_CONTROLLER_EPOCH.
        """
        self._count += 1
        lesson = _LESSONS.get(heard.name)
        self.sources.add(heard)
        if lesson is not None and heard.message is not None and not is_refused:
            lesson(self, heard, Moment(self._count, heard.time))

    def tables(self) -> Tables:
        """Return what became of the cluster so far."""
        stories = sorted(self.stories.items())
        offline = Offline(self.brokers, self._answers, self._directories.losses, self._names)
        racks = Racks(self.brokers)
        return Tables(
            tuple(row for key, story in stories for row in states(*key, story)),
            tuple(lives(self.brokers)),
            tuple(offline.rows(self.stories)),
            tuple(row for key, story in stories for row in racks.violations(*key, story)),
            tuple(row for key, story in stories for row in shrinks(*key, story)),
            tuple(self.sources.rows(self._directories)),
        )

    def _controlled(self, heard: Observation, now: Moment) -> None:
        body = heard.body
        if body.message.controller_epoch < self.term:
            return
        self.term = body.message.controller_epoch
        told_now = list(told.events_of_controller(body))
        if heard.name != "StopReplicaRequest":
            self._names |= {topic_id: name for name, topic_id in topic_ids_in(body.message).items()}
        if heard.name == "UpdateMetadataRequest":
            self.brokers.hear(heard.connection, told.listed_by_controller(body), now, heard.name)
            if body.message.type == told.FULL:
                there = {(one.topic, one.partition) for one in told_now}
                told_now += [Event(*key, DELETED) for key in self.stories if key not in there]
        self._take(told_now, heard.connection, now, heard.name, False)

    def _viewed(self, heard: Observation, now: Moment) -> None:
        body = heard.body
        self.brokers.hear(heard.broker, told.listed_by_view(body), now, heard.name, is_view=True)
        self._names |= {bytes(topic.topic_id): topic.name for topic in body.message.topics if topic.name}
        self._take(told.events_of_view(body), heard.broker, now, heard.name, True)

    def _take(self, told_now: Iterable[Event], teller: str, now: Moment, source: str, is_view: bool) -> None:
        for topic, partition, state in told_now:
            if partition is None:
                for key in [key for key in self.stories if key[0] == topic]:
                    self.stories[key].tell(teller, state, now, source, is_view)
                continue
            story = self.stories.get((topic, partition))
            if story is None:
                story = self.stories[topic, partition] = Timeline()
            story.tell(teller, state, now, source, is_view)

    def _answered(self, heard: Observation, now: Moment) -> None:
        for key, code in partition_errors(heard.message, self._names).items():
            is_good = code in (NONE, STALE_CONTROLLER_EPOCH) and heard.name == "LeaderAndIsrResponse"
            if is_good or code == KAFKA_STORAGE_ERROR:
                self._answer(key, Answer(now, self.brokers.at(heard.broker), code == KAFKA_STORAGE_ERROR))

    def _answer(self, key: tuple[str, int], answer: Answer) -> None:
        """Keep an answer of a broker about its replica; of those that say the same since the last state, the first."""
        place = len(self.stories[key].entries) if key in self.stories else 0
        known = self._latest.get((key, answer.broker))
        if known != (answer.has_failed, place):
            self._latest[key, answer.broker] = answer.has_failed, place
            self._answers.setdefault(key, []).append(answer)

    def _reported(self, heard: Observation, now: Moment) -> None:
        message = heard.body.message
        if heard.name == "BrokerRegistrationRequest":
            self._directories.start(message.broker_id, [*map(bytes, message.log_dirs)], now, heard.name)
        elif heard.name == "BrokerHeartbeatRequest":
            self._directories.fail(message.broker_id, [*map(bytes, message.offline_log_dirs)], now, heard.name)
        else:
            for directory in message.directories:
                rows = [
                    (bytes(topic.topic_id), one.partition_index)
                    for topic in directory.topics
                    for one in topic.partitions
                ]
                self._directories.assign(message.broker_id, bytes(directory.id), rows, now, heard.name)


_LESSONS: dict[str, Callable[[History, Observation, Moment], None]] = {
    **dict.fromkeys(CONTROLLER, History._controlled),
    **dict.fromkeys(VIEWS, History._viewed),
    **dict.fromkeys(DIRECTORIES, History._reported),
    "LeaderAndIsrResponse": History._answered,
    "StopReplicaResponse": History._answered,
}


def history_of(messages: Iterable[Observation]) -> Tables:
    """Return what became of a cluster.

    Args:
        messages: what was heard, in the order of time; others than `MESSAGES` are passed over.
    """
    history = History()
    for heard, is_refused in judged(messages):
        history.hear(heard, is_refused)
    return history.tables()
