"""All that is heard of one cluster, written down: messages in, tables out.

Memory grows with what happened, not with how often it was said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..jbod.answers import partition_errors
from ..jbod.requests import topic_ids_in
from ..jbod.values import KAFKA_STORAGE_ERROR, NONE, STALE_CONTROLLER_EPOCH
from . import told
from .answers import judged
from .brokers import Brokers
from .directories import Directories
from .hearing import CONTROLLER, DIRECTORIES, VIEWS, Heard
from .offline import Answer, Offline
from .rows import Racks, lives, shrinks, states
from .sources import Sources
from .story import Moment, Story
from .tables import Tables
from .told import DELETED, Told


class History:
    """The history of one cluster.

    Attributes:
        brokers: its brokers.
        stories: of its partitions, by topic and index.
        sources: the messages that were read.
        term: the highest controller epoch; what controllers of earlier terms say is not believed.

    >>> from kwire import messages
    >>> history = History()
    >>> history.hear(Heard(messages.StopReplicaRequest(controller_epoch=3), 3, time=1.0))
    >>> history.term, history.tables().partition_states
    (3, ())
    """

    def __init__(self) -> None:
        self.brokers = Brokers()
        self.stories: dict[tuple[str, int], Story] = {}
        self.term = -1
        self._count = 0
        self._names: dict[bytes, str] = {}
        self._answers: dict[tuple[str, int], list[Answer]] = {}
        self._latest: dict[tuple[tuple[str, int], int | None], tuple[bool, int]] = {}
        self._directories = Directories()
        self.sources = Sources()

    def hear(self, heard: Heard, is_refused: bool = False) -> None:
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

    def _controlled(self, heard: Heard, now: Moment) -> None:
        body = heard.body
        if body.message.controller_epoch < self.term:
            return
        self.term = body.message.controller_epoch
        told_now = list(told.told_by_controller(body))
        if heard.name != "StopReplicaRequest":
            self._names |= {topic_id: name for name, topic_id in topic_ids_in(body.message).items()}
        if heard.name == "UpdateMetadataRequest":
            self.brokers.hear(heard.connection, told.listed_by_controller(body), now, heard.name)
            if body.message.type == told.FULL:
                there = {(one.topic, one.partition) for one in told_now}
                told_now += [Told(*key, DELETED) for key in self.stories if key not in there]
        self._take(told_now, heard.connection, now, heard.name, False)

    def _viewed(self, heard: Heard, now: Moment) -> None:
        body = heard.body
        self.brokers.hear(heard.broker, told.listed_by_view(body), now, heard.name, is_view=True)
        self._names |= {bytes(topic.topic_id): topic.name for topic in body.message.topics if topic.name}
        self._take(told.told_by_view(body), heard.broker, now, heard.name, True)

    def _take(self, told_now: Iterable[Told], teller: str, now: Moment, source: str, is_view: bool) -> None:
        for topic, partition, state in told_now:
            if partition is None:
                for key in [key for key in self.stories if key[0] == topic]:
                    self.stories[key].tell(teller, state, now, source, is_view)
                continue
            story = self.stories.get((topic, partition))
            if story is None:
                story = self.stories[topic, partition] = Story()
            story.tell(teller, state, now, source, is_view)

    def _answered(self, heard: Heard, now: Moment) -> None:
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

    def _reported(self, heard: Heard, now: Moment) -> None:
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


_LESSONS: dict[str, Callable[[History, Heard, Moment], None]] = {
    **dict.fromkeys(CONTROLLER, History._controlled),
    **dict.fromkeys(VIEWS, History._viewed),
    **dict.fromkeys(DIRECTORIES, History._reported),
    "LeaderAndIsrResponse": History._answered,
    "StopReplicaResponse": History._answered,
}


def history_of(messages: Iterable[Heard]) -> Tables:
    """Return what became of a cluster.

    Args:
        messages: what was heard, in the order of time; others than `MESSAGES` are passed over.
    """
    history = History()
    for heard, is_refused in judged(messages):
        history.hear(heard, is_refused)
    return history.tables()
