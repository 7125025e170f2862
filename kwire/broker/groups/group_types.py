"""The types of groups, by their names in Kafka's protocol."""

from __future__ import annotations

SHARE = "share"  # the type of share groups
STREAMS = "streams"  # the type of streams groups
CLASSIC, CONSUMER = "classic", "consumer"  # group types in ListGroups
