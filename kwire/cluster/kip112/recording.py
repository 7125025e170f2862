"""What a step of a scenario caused: delivered frames and writes to ZooKeeper, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from ...protocol import Frame
from .ensemble import ZnodeWrite
from .jbod_cluster import JbodCluster
from .links import Link, LinkKey
from .releases import Name

TICK = 0.001


class Happened(NamedTuple):
    """A delivered frame, or a write to ZooKeeper; only one of them is set."""

    time: float
    frame: Frame | None = None
    write: ZnodeWrite | None = None


@dataclass(frozen=True, slots=True)
class Played:
    """A step, its description, and its effects in order."""

    step: str
    words: str
    happened: tuple[Happened, ...]


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of the simulated cluster.

    Attributes:
        brokers: the number of brokers; their ids count from 1.
        directories: the log directories of each broker.
        racks: the racks of the brokers, in their order; one for each broker, or empty.
        behaviour: `"kip"`, the text of KIP-112, or `"released"`.
        release, protocol: the release and `inter.broker.protocol.version` of all brokers.
        start: the start time in seconds since 1970; each event is a millisecond later than the previous one.
    """

    brokers: int = 3
    directories: tuple[str, ...] = ("/a", "/b")
    racks: tuple[str, ...] = ()
    behaviour: Name = "kip"
    release: str = "3.9"
    protocol: str = "3.9"
    start: float = 1_700_000_000.0


class RecordedCluster(JbodCluster):
    """A cluster that records each frame when it is delivered."""

    def __init__(self, setting: Setting, show: Callable[[Link, bytes, str], None]) -> None:
        self.show = show
        brokers = dict.fromkeys(range(1, setting.brokers + 1), setting.directories)
        named = {"behaviour": setting.behaviour, "release": setting.release, "protocol": setting.protocol}
        super().__init__(brokers, **named)  # type: ignore[arg-type]

    def _deliver(self, link: Link) -> None:
        self.show(link, link.waiting[0][1], "request")
        super()._deliver(link)

    def _answer(self, link: Link, key: LinkKey) -> None:
        if link.answer is not None:
            self.show(link, link.answer, "response")
        super()._answer(link, key)


@dataclass(slots=True)
class ScenarioRecorder:
    """Records events in order, each a millisecond after the previous one."""

    now: float
    happened: list[Happened] = field(default_factory=list)

    def note(self, frame: Frame | None = None, write: ZnodeWrite | None = None) -> None:
        """Record a delivered frame, or a write to ZooKeeper."""
        self.now = round(self.now + TICK, 6)
        self.happened.append(Happened(self.now, frame, write))

    def take(self) -> tuple[Happened, ...]:
        """Return the events since the last call."""
        happened = tuple(self.happened)
        self.happened = []
        return happened
