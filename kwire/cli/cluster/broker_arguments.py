"""Arguments of `kwire place` that name brokers: --broker-list, --remove, --replace OLD=NEW, --add ID=RACK."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace

from ...cluster import Broker
from ...errors import UnknownMessage
from ..options.usage_error import UsageError


def ids_in(text: str | None, option: str) -> list[int]:
    """Parse ids separated by commas; return an empty list for a missing text. Raises UsageError."""
    words = text.split(",") if text else []
    if not all(re.fullmatch(r"\s*[0-9]{1,10}\s*", word) for word in words):
        raise UsageError(f"{option} {text}: write ids separated by commas, such as 1,2,5")
    return [int(word) for word in words]


def replacements_in(options: argparse.Namespace) -> dict[int, int]:
    """Parse --replace; return the new broker of each old one. Raises UsageError."""
    pairs = [word.partition("=")[::2] for word in options.replace.split(",")] if options.replace else []
    if not all(re.fullmatch("[0-9]{1,10}", one.strip()) for pair in pairs for one in pair):
        raise UsageError(f"--replace {options.replace}: write OLD=NEW, such as 3=7, separated by commas")
    return {int(old): int(new) for old, new in pairs}


def with_added(options: argparse.Namespace, brokers: Sequence[Broker]) -> list[Broker]:
    """Return the brokers, including those of --add, which may name existing ones."""
    by_id = {broker.node_id: broker for broker in brokers}
    for word in options.add.split(",") if options.add else ():
        node_id, equals, rack = word.strip().partition("=")
        if not re.fullmatch("[0-9]{1,10}", node_id) or (equals and not rack):
            raise UsageError(f"--add {options.add}: write ids and racks, such as 7=/DC1/R2, separated by commas")
        known = by_id.get(int(node_id), Broker(int(node_id)))
        by_id[int(node_id)] = replace(known, rack=rack) if rack else known
    return list(by_id.values())


def check_known(brokers: Sequence[Broker], ids: set[int]) -> None:
    """Raise UnknownMessage if no broker has one of the ids."""
    known = sorted(broker.node_id for broker in brokers)
    for node_id in sorted(ids):
        if node_id not in known:
            raise UnknownMessage("broker", str(node_id), [str(known_id) for known_id in known])
