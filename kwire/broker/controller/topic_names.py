"""Names of topics: internal and reserved ones, and the check of a new name."""

from __future__ import annotations

import re
from collections.abc import Collection

from ...errors.refused import InvalidRequest, InvalidTopicException, TopicAlreadyExists

GROUPS, TRANSACTIONS, SHARES = INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")  # as in Kafka; such a name is also a safe folder name
RESERVED = "__cluster_metadata"


def is_valid_name(name: str) -> bool:
    """Return whether a topic may have a name (Topic.isValid)."""
    return _NAME.fullmatch(name) is not None and name not in (".", "..")


def check_name(name: str, topics: Collection[str]) -> None:
    """Raise an error if the name of a new topic is invalid or already used.

    Args:
        name: the name of the new topic.
        topics: the existing names. Metric names contain `_` instead of a dot, so a name that differs only in these is
            refused.
    """
    if not is_valid_name(name):
        raise InvalidTopicException("bad_topic_name", topic=name)
    if name == RESERVED:
        raise InvalidRequest("reserved_topic", topic=name)
    if name in topics:
        raise TopicAlreadyExists("topic_exists", topic=name)
    if "." in name or "_" in name:
        metric = name.replace(".", "_")
        if other := next((topic for topic in topics if topic.replace(".", "_") == metric), None):
            raise InvalidTopicException("topic_collides", topic=name, other=other)
