"""The topics that a cluster no longer has, and when each was deleted."""

from __future__ import annotations

from collections.abc import Mapping

from ..events.authority import Authority
from ..state import DeletedTopic
from .partition_timeline import PartitionTimeline


def find_deleted_topics(timelines: Mapping[tuple[str, int], PartitionTimeline]) -> dict[str, DeletedTopic]:
    """Return the topics whose partitions are all deleted, by name; a topic that was created again is not.

    Args:
        timelines: the partitions, by topic and index.
    """
    deletions: dict[str, DeletedTopic] = {}
    existing = set[str]()
    for (topic, _), timeline in sorted(timelines.items()):
        if not timeline.entries:
            continue
        entry = timeline.entries[-1]
        if not entry.state.is_deleted:
            existing.add(topic)
            continue
        deleted = DeletedTopic(entry.since.time, entry.authority >= Authority.CONTROLLER)
        other = deletions.get(topic)
        if other is None or (deleted.time or 0.0) > (other.time or 0.0):
            deletions[topic] = deleted
    return {topic: deleted for topic, deleted in deletions.items() if topic not in existing}
