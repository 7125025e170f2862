"""All cases, and what real brokers answered: `tests/data/conformance-kafka-RELEASE.txt.gz`."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from kwire.errors import EncodeError

from .askers import Asker
from .bases import BASES, Base
from .by_hand import BY_HAND
from .mutations import mutate_request
from .recorder import Case

# Requests for everything that is there, which other cases leave.
OF_ALL = frozenset(
    (
        "Metadata topics=null",
        "ElectLeaders topic_partitions=null",
        "ListGroups states_filter=empty",
        "DescribeClientQuotas components=empty",
        "ListTransactions state_filters=empty",
        "ListConfigResources resource_types=empty",
    )
)
DATA = Path(__file__).parents[2] / "data"


def list_lines(asker: Asker) -> list[str]:
    """Ask all requests; return a line for each answer."""
    lines: list[str] = []
    for name, act in BY_HAND.items():
        case = Case(asker, name)
        act(case)
        lines += case.lines
    for api, base in BASES.items():
        for case in _cases_of(asker, api.replace(" ", "-"), base):
            lines += case.lines
    return lines


def _cases_of(asker: Asker, api: str, base: Base) -> Iterator[Case]:
    """Yield the cases of an api: its request at each version, and the odd variants at the newest."""
    for version in base.versions:
        case = Case(asker, f"{api}-v{version}")
        try:
            case.ask(base.make(case), version)
        except EncodeError:
            continue  # a field that the version lacks
        yield case
    version = base.versions[-1]
    count = len(list(mutate_request(base.make(Case(asker, f"{api}-base")))))
    for number in range(count):
        case = Case(asker, f"{api}-{number}")
        what, odd = list(mutate_request(base.make(case)))[number]
        if f"{api} {what}" in OF_ALL:
            continue
        try:
            case.ask(odd, version)
        except (EncodeError, TypeError, AttributeError):
            continue  # no such value can be sent
        case.lines = [line.replace(f"{case.label}: ", f"{case.label} {what}: ", 1) for line in case.lines]
        yield case


def read_recorded(release: str) -> list[str]:
    """Return the lines of a real broker."""
    with gzip.open(DATA / f"conformance-kafka-{release}.txt.gz", "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def write_recorded(release: str, lines: list[str]) -> None:
    """Write the lines of a real broker."""
    text = "".join(f"{line}\n" for line in lines)
    (DATA / f"conformance-kafka-{release}.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
