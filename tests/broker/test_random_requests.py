"""Requests of every served api and version: plausible ones are answered in every release, and random ones neither
break a cluster whose brokers stop and whose disks fail, nor fill its memory."""

from __future__ import annotations

import pytest

from kwire.broker import Settings
from kwire.schema.releases import releases
from tests.broker.random_requests import RandomWorld
from tests.conftest import spread
from tests.linear_time.effort import at_most
from tests.seeds import PROFILE, SEED, TRIES, named

WORLDS = (100 if PROFILE != "dev" else 1) * TRIES
MOST_LINES = 3_000_000  # for one request; some have thousands of parts


def answer_all(settings: Settings) -> None:
    """Send two plausible requests of every served api and version; all must get a response that can be written."""
    world = RandomWorld(f"plausible {settings.release}", settings)
    for name, api in world.cluster.table.items():
        for version in range(api.first, api.last + 1):
            for _ in range(2):
                world.send(name, version, odd=0.0)
    world.end()


def test_every_version_is_answered() -> None:
    answer_all(Settings(internal_partitions=3))


@pytest.mark.parametrize("release", spread(releases().names, 3))
def test_every_version_that_a_release_has_is_answered(release: str) -> None:
    answer_all(Settings(internal_partitions=3, release=release))


@pytest.mark.fuzz
def test_random_requests() -> None:
    for number in range(WORLDS):
        with named(f"world {number}"):
            RandomWorld(f"{SEED} {number}").run()


class Measured(RandomWorld):
    """A world in which each request, with what it completes, may run so many lines."""

    def send(self, name: str, version: int, odd: float | None = None) -> None:
        with at_most(MOST_LINES):
            super().send(name, version, odd)


def test_no_request_takes_much_work() -> None:
    Measured(f"{SEED} work").run(150)
