"""What a group has committed: by topic and partition, and gone with its topic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .held import LEAST_SIZE, Held


class Commit(NamedTuple):
    """An offset that was committed, and what was noted with it; `topic_id` is of the topic as it was then."""

    offset: int
    leader_epoch: int
    metadata: str
    topic_id: bytes

    @property
    def size(self) -> int:
        """How many bytes it takes."""
        return LEAST_SIZE + len(self.metadata)


class Commits:
    """The commits of a group.

    >>> commits = Commits(Held(1 << 20))
    >>> commits.put("t", 0, Commit(5, 0, "", bytes(16)))
    >>> commits.get("t", 0, bytes(16)).offset, commits.get("t", 0, bytes(15) + b"1")
    (5, None)
    """

    def __init__(self, held: Held) -> None:
        self._held = held
        self._topics: dict[str, dict[int, Commit]] = {}

    def __bool__(self) -> bool:
        return bool(self._topics)

    def put(self, topic: str, index: int, commit: Commit) -> None:
        """Keep a commit instead of the one before."""
        rows = self._topics.setdefault(topic, {})
        old = rows.get(index)
        self._held.take(commit.size - (old.size if old else 0))
        rows[index] = commit

    def get(self, topic: str, index: int, topic_id: bytes) -> Commit | None:
        """Return a commit, if it is of this very topic, and not of one before of the same name."""
        found = self.last(topic, index)
        return found if found is not None and found.topic_id == topic_id else None

    def last(self, topic: str, index: int) -> Commit | None:
        """Return a commit, whatever the id of the topic now."""
        return self._topics.get(topic, {}).get(index)

    def topics(self) -> Iterator[tuple[str, list[int]]]:
        """Give the topics with the partitions that have commits."""
        for topic, rows in self._topics.items():
            yield topic, list(rows)

    def clear(self) -> None:
        """Forget all of them."""
        self._held.take(-sum(commit.size for rows in self._topics.values() for commit in rows.values()))
        self._topics = {}
