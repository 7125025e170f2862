"""The schedule of a simulation as data: its clients, its faults, and when they happen. A seed draws it; it can be
printed, read, and made smaller."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple, Self

TOPIC = "t"
PARTITIONS = 2
INTERNAL_PARTITIONS = 1  # of each internal topic
BROKERS = (1, 2, 3)
FAULTY = ("__consumer_offsets", "__transaction_state", "__share_group_state", TOPIC, TOPIC, TOPIC)
SECONDS_PER_STEP = 0.6


class ClientPlan(NamedTuple):
    """A client: its name, its kind (a key of `CLIENTS`, or `own`), and the variant of the kind."""

    name: str
    kind: str
    variant: int = 0


class PlannedFault(NamedTuple):
    """A fault: when it begins, its kind (a key of `FAULTS`), how long it lasts, and what it affects.

    Times are in seconds. `target` is a broker, the number of a client, or a partition of `topic`.
    """

    at: float
    kind: str
    seconds: float
    target: int
    topic: str = ""
    amount: float = 0.0

    def __str__(self) -> str:
        details = f" {self.topic}-{self.target}" if self.topic else f" {self.target}"
        amount = f" ({self.amount:g})" if self.amount else ""
        return f"{self.kind}{details}{amount} for {self.seconds:g} s"


@dataclass(frozen=True, slots=True)
class Schedule:
    """What happens in a simulation. The same schedule gives the same history.

    Attributes:
        seed: the seed of all random choices of the network, the clients and the brokers.
        seconds: when clients begin no new work, and all faults end.
        clients: the clients.
        faults: the faults.
        is_unclean: whether unclean elections happen, which lose acknowledged records.
        has_chaos: whether brokers disturb requests lawfully until all faults end, as `kwire.testing.Kafka(chaos=seed)`.
    """

    seed: int
    seconds: float
    clients: tuple[ClientPlan, ...]
    faults: tuple[PlannedFault, ...]
    is_unclean: bool = False
    has_chaos: bool = False

    def to_json(self) -> str:
        """Return the schedule as one line of JSON."""
        fields = {
            "seed": self.seed,
            "seconds": self.seconds,
            "clients": self.clients,
            "faults": self.faults,
            "is_unclean": self.is_unclean,
            "has_chaos": self.has_chaos,
        }
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the schedule in a line that `to_json` has returned.

        Raises:
            ValueError: the text is no schedule.
        """
        try:
            fields: dict[str, Any] = json.loads(text)
            clients = tuple(ClientPlan(*row) for row in fields.pop("clients"))
            faults = tuple(PlannedFault(*row) for row in fields.pop("faults"))
            return cls(clients=clients, faults=faults, **fields)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a schedule as `Schedule.to_json` prints it: {error}") from None

    def with_clients(self, names: Sequence[str]) -> Schedule:
        """Return the schedule with additional clients of the kind `own`."""
        own = tuple(ClientPlan(name, "own") for name in names)
        return replace(self, clients=(*self.clients, *own))


# How many of each kind of client there may be, and how many variants of it exist.
KINDS: dict[str, tuple[int, int, int]] = {
    "idempotent": (1, 2, 1),
    "transactional": (1, 2, 2),  # the versions of the transaction protocol
    "classic": (0, 2, 2),  # read_uncommitted and read_committed
    "consumer": (1, 2, 2),
    "share": (0, 2, 2),  # members of groups that read uncommitted and committed records
}


def draw_schedule(seed: int, steps: int, *, is_unclean: bool = False, has_chaos: bool = False) -> Schedule:
    """Draw a schedule.

    Args:
        seed: the seed.
        steps: the number of faults. Clients work for 0.6 s of simulated time for each, and for 4 s at least.
        is_unclean: whether to include unclean elections.
        has_chaos: whether brokers disturb requests; the faults are the same with and without.
    """
    rng = Random(f"{seed} schedule")
    seconds = round(max(4.0, steps * SECONDS_PER_STEP), 1)
    clients = []
    for kind, (fewest, largest, variants) in KINDS.items():
        variant = rng.randrange(variants)
        for number in range(rng.randint(fewest, largest)):
            if kind == "transactional":
                variant = rng.randrange(variants)
            clients.append(ClientPlan(f"{kind}-{number + 1}", kind, variant))
    kinds = [kind for kind, weight in FAULTS.items() for _ in range(weight)]
    if is_unclean:
        kinds += ["elect-unclean"] * 8
    faults = [_draw_fault(rng, rng.choice(kinds), seconds, len(clients)) for _ in range(steps)]
    return Schedule(seed, seconds, tuple(clients), tuple(sorted(faults)), is_unclean, has_chaos)


def _draw_fault(rng: Random, kind: str, seconds: float, clients: int) -> PlannedFault:
    at, lasts = round(rng.uniform(0.3, seconds - 0.3), 2), round(rng.uniform(0.2, 3.0), 2)
    if kind in OF_PARTITIONS:
        topic = rng.choice(FAULTY) if kind != "elect-unclean" else TOPIC
        partition = rng.randrange(PARTITIONS if topic == TOPIC else INTERNAL_PARTITIONS)
        return PlannedFault(at, kind, lasts, partition, topic, float(rng.choice(BROKERS)))
    if kind in OF_CLIENTS:
        return PlannedFault(at, kind, round(lasts * 2, 2), rng.randrange(clients))
    if kind == "lose":
        return PlannedFault(at, kind, lasts, 0, amount=rng.choice((0.05, 0.1, 0.3)))
    if kind == "delay":
        return PlannedFault(at, kind, lasts, 0, amount=rng.choice((0.1, 0.5)))
    return PlannedFault(at, kind, lasts, rng.choice(BROKERS))


# The kinds of faults, with their weights.
FAULTS: dict[str, int] = {
    "stop": 3,  # a broker stops; its connections are closed
    "isolate": 2,  # a broker is cut off from brokers and clients; its connections hang
    "unreachable": 2,  # clients cannot reach a broker, brokers can
    "fail-disk": 3,  # a log directory fails
    "move-leader": 6,
    "shrink-isr": 3,
    "restart": 1,  # all brokers are killed, and started again with their disks
    "disconnect": 2,  # all connections to a broker are closed
    "lose": 4,  # requests or responses are lost with their connection, or come much later
    "delay": 2,
    "crash": 2,  # a client ends without a word, and starts again
    "pause": 2,  # a client does nothing for a while, as in a long garbage collection
    "twin": 2,  # another instance of a client starts: of a transactional producer, with the same transactional id
    "leave": 1,  # a client leaves properly, and starts again
}
OF_PARTITIONS = ("move-leader", "shrink-isr", "elect-unclean")
OF_CLIENTS = ("crash", "pause", "twin", "leave")
Shrink = Callable[[Schedule], bool]
