"""Arguments that name brokers and racks: --broker-list, --remove, --replace OLD=NEW, --add ID=RACK, --if-lost."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import lcm

from ...cluster import Broker
from ...errors import UnknownMessage
from ..options.usage_error import UsageError

MOST_WEIGHT = 1000


def ids_in(text: str | None, option: str) -> list[int]:
    """Parse ids separated by commas; return an empty list for a missing text. Raises UsageError."""
    words = text.split(",") if text is not None else []
    if not all(re.fullmatch(r"\s*[0-9]{1,10}\s*", word) for word in words):
        raise UsageError(f"{option} {text}: write ids separated by commas, such as 1,2,5")
    return [int(word) for word in words]


def replacements_in(options: argparse.Namespace) -> dict[int, int]:
    """Parse --replace; return the new broker of each old one. Raises UsageError."""
    given = options.replace
    pairs = [word.partition("=")[::2] for word in given.split(",")] if given is not None else []
    if not all(re.fullmatch("[0-9]{1,10}", text.strip()) for pair in pairs for text in pair):
        raise UsageError(f"--replace {given}: write OLD=NEW, such as 3=7, separated by commas")
    replacements: dict[int, int] = {}
    for old, new in ((int(old), int(new)) for old, new in pairs):
        if replacements.setdefault(old, new) != new:
            raise UsageError(f"--replace {given}: broker {old} is replaced twice")
    for new in replacements.values():
        if new in replacements:
            raise UsageError(f"--replace {given}: broker {new} is to go, and cannot take replicas")
    return replacements


def with_added(options: argparse.Namespace, brokers: Sequence[Broker]) -> list[Broker]:
    """Return the brokers, including those of --add, which may name existing ones."""
    by_id = {broker.node_id: broker for broker in brokers}
    for word in options.add.split(",") if options.add is not None else ():
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


def brokers_named(text: str, brokers: Sequence[Broker], option: str) -> list[int]:
    """Return the ids of brokers that are named by id, or by a rack or a level above it.

    Args:
        text: ids and racks, separated by commas; rack `/DC1` includes `/DC1/R2`.
        brokers: the brokers of the cluster.
        option: the option, for errors.

    Raises:
        UsageError: no broker of the cluster is known.
        UnknownMessage: there is no such broker or rack.
    """
    if not brokers:
        raise UsageError(f"{option}: nothing in the input lists the brokers")
    named: list[int] = []
    for word in text.split(","):
        name = word.strip()
        if not name:
            raise UsageError(f"{option} {text}: write brokers and racks separated by commas, such as 3,/DC1")
        if re.fullmatch("[0-9]{1,10}", name):
            matching = [broker.node_id for broker in brokers if broker.node_id == int(name)]
            known = [str(node_id) for node_id in sorted(broker.node_id for broker in brokers)]
        else:
            matching = [broker.node_id for broker in brokers if _is_in_rack(broker.rack, name)]
            known = sorted({broker.rack for broker in brokers if broker.rack})
        if not matching:
            kind = "broker" if name.isdecimal() else "rack"
            raise UnknownMessage(f"live {kind}", name, known)
        named += matching
    return sorted(set(named))


def _is_in_rack(rack: str | None, name: str) -> bool:
    return bool(name) and rack is not None and (rack == name or rack.startswith(f"{name.rstrip('/')}/"))


def weights_in(text: str | None, brokers: Sequence[Broker]) -> dict[int, int]:
    """Parse --weights; return the weight of each broker in whole numbers. Later words go before earlier ones.

    Raises:
        UsageError: a word is not BROKER=NUMBER, or a weight is not between 0.01 and 1000.
        UnknownMessage: there is no such broker or rack.
    """
    if text is None:
        return {}
    weights = {broker.node_id: Fraction(1) for broker in brokers}
    for word in text.split(","):
        name, _, number = word.partition("=")
        if (
            not re.fullmatch(r"\s*[0-9]{1,4}(\.[0-9]{1,2})?\s*", number)
            or not 0 < Fraction(number.strip()) <= MOST_WEIGHT
        ):
            raise UsageError(f"--weights {text}: write BROKER=WEIGHT, such as 3=2,/DC2=0.5, with weights up to 1000")
        for node_id in brokers_named(name, brokers, "--weights"):
            weights[node_id] = Fraction(number.strip())
    unit = lcm(*(weight.denominator for weight in weights.values()))
    return {node_id: int(weight * unit) for node_id, weight in weights.items()}
