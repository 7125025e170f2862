"""The types of groups, by their names in Kafka's protocol."""

from __future__ import annotations

SHARE = "share"  # the type of share groups
CLASSIC, CONSUMER = "classic", "consumer"  # group types in ListGroups
