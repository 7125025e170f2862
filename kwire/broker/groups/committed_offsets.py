"""The committed offsets of a group, in memory; `group_coordinator` writes them to `__consumer_offsets`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .group_memory import LEAST_SIZE, GroupMemory


class Commit(NamedTuple):
    """A committed offset with its metadata. `topic_id` is the topic's id at the time of the commit, `time_ms` that time
    in milliseconds since 1970, and `expires_ms` the expiry time if the client set a retention time, otherwise -1."""

    offset: int
    leader_epoch: int
    metadata: str
    topic_id: bytes
    time_ms: int = -1
    expires_ms: int = -1

    @property
    def size(self) -> int:
        """The size of the commit in bytes."""
        return LEAST_SIZE + len(self.metadata)


class Commits:
    """The committed offsets of a group.

    >>> commits = Commits(GroupMemory(1 << 20))
    >>> commits.put("t", 0, Commit(5, 0, "", bytes(16)))
    >>> commits.get("t", 0, bytes(16)).offset, commits.get("t", 0, bytes(15) + b"1")
    (5, None)
    """

    def __init__(self, memory: GroupMemory) -> None:
        self._held = memory
        self._topics: dict[str, dict[int, Commit]] = {}

    def __bool__(self) -> bool:
        return bool(self._topics)

    def put(self, topic: str, index: int, commit: Commit) -> None:
        """Store a commit; it replaces the previous one for the partition."""
        rows = self._topics.setdefault(topic, {})
        old = rows.get(index)
        self._held.take(commit.size - (old.size if old else 0))
        rows[index] = commit

    def remove(self, topic: str, index: int) -> bool:
        """Remove a commit; returns whether there was one."""
        rows = self._topics.get(topic, {})
        commit = rows.pop(index, None)
        if not rows:
            self._topics.pop(topic, None)
        self._held.take(-commit.size if commit else 0)
        return commit is not None

    def get(self, topic: str, index: int, topic_id: bytes) -> Commit | None:
        """Return the commit for a partition; None if there is none, or if it belongs to a deleted topic of the same
        name.
        """
        commit = self.last(topic, index)
        return commit if commit is not None and commit.topic_id == topic_id else None

    def last(self, topic: str, index: int) -> Commit | None:
        """Return the commit for a partition, whatever its topic id."""
        return self._topics.get(topic, {}).get(index)

    def topics(self) -> Iterator[tuple[str, list[int]]]:
        """Yield each topic with its partitions that have commits."""
        for topic, rows in self._topics.items():
            yield topic, list(rows)

    def clear(self) -> None:
        """Delete all commits."""
        self._held.take(-sum(commit.size for rows in self._topics.values() for commit in rows.values()))
        self._topics = {}
