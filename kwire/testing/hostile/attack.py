"""Hostile clients on sockets: attack a broker, and report what it does."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from ...client.address import Address
from ...client.connection import BrokerConnection
from ...client.deadline import Deadline
from ...errors import BadFrame, KwireError
from ...protocol import FrameReader
from . import ClientKind, End, Step
from .serving import PORTION, play_steps


@dataclass(frozen=True)
class AttackResult:
    """What a broker did about a hostile client.

    Attributes:
        kind: the kind of client.
        did: what the broker did with its connections.
        still_serves: whether it answered another client afterwards.
    """

    kind: ClientKind
    did: str
    still_serves: bool


async def attack(address: Address, kinds: Sequence[ClientKind], timeout: float, rng: Random) -> list[AttackResult]:
    """Attack a broker with kinds of hostile clients, one after the other.

    Args:
        address: the address of the broker.
        kinds: the kinds of clients.
        timeout: seconds to wait for what the broker does about a kind, and for its response to a sound client after it.
        rng: the random generator.

    Raises:
        CallError: the broker does not answer a sound client even before.
    """
    await asyncio.to_thread(_ask_soundly, address, timeout)
    return [await _attack(address, kind, timeout, rng) for kind in kinds]


def _ask_soundly(address: Address, timeout: float) -> None:
    with BrokerConnection(address, deadline=Deadline(timeout)) as broker:
        broker.versions()


async def _attack(address: Address, kind: ClientKind, timeout: float, rng: Random) -> AttackResult:
    steps = [list(kind.steps(rng)) for _ in range(kind.connections)]
    tasks = [asyncio.ensure_future(_observe(address, steps_of_connection, timeout)) for steps_of_connection in steps]
    still_serves = True
    try:
        if kind.connections > 1:  # while they are open
            await asyncio.sleep(timeout / 4)
        await asyncio.to_thread(_ask_soundly, address, timeout)
    except KwireError:
        still_serves = False
    observed = sorted(await asyncio.gather(*tasks))
    counts = {did: observed.count(did) for did in dict.fromkeys(observed)}
    texts = [did if len(counts) == 1 else f"{count} {did}" for did, count in counts.items()]
    return AttackResult(kind, ", ".join(texts), still_serves)


async def _observe(address: Address, steps: Sequence[Step], timeout: float) -> str:
    """Play steps on a connection, and return what the broker does until the timeout."""
    answered = 0
    ending = "left the connection open"
    frames = FrameReader()
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(*address)
            try:
                await play_steps(steps, writer)
                if End.RESET in steps:
                    return "had no time to answer"
                while portion := await reader.read(PORTION):
                    answered += sum(1 for _ in frames.feed(portion))
                ending = "closed the connection"
            finally:
                writer.transport.abort()
    except TimeoutError:
        pass
    except BadFrame:
        ending = "answered with bytes that are no frame"
    except OSError:
        ending = "closed the connection"
    if not answered:
        return ending
    times = "once" if answered == 1 else f"{answered} times"
    return f"answered {times}, {ending}"
