"""`simulate` runs one history of brokers and clients under faults, drawn from a seed, and checks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .checkers.invariants import check_history
from .checkers.violation import Violation
from .client import ClientFactory
from .history import History
from .schedule import Schedule, draw_schedule
from .shrinking import shrink_schedule
from .simulator import Simulation

SHOWN_EVENTS = 60
STEPS = 12


class SimulationFailure(AssertionError):
    """A history violates an invariant. The message says which, and how to replay the history.

    Attributes:
        result: the result of the simulation.
    """

    def __init__(self, text: str, result: SimulationResult) -> None:
        super().__init__(text)
        self.result = result


@dataclass(frozen=True)
class SimulationResult:
    """The result of a simulation.

    Attributes:
        schedule: what happened: clients and faults, as data.
        history: all events; `str(result.history)` is a readable timeline.
        violations: what the checkers found.
    """

    schedule: Schedule
    history: History
    violations: list[Violation]
    _clients: Mapping[str, ClientFactory] = field(default_factory=dict, repr=False)

    def check(self, *, shrinks: bool = True) -> None:
        """Raise an error if an invariant is violated.

        Args:
            shrinks: whether to look for a smaller schedule that violates the same invariant, with some hundred runs.

        Raises:
            SimulationFailure: an invariant is violated; the message contains the seed, the violations, the end of the
                history, and the call that replays it.
        """
        if self.violations:
            smallest = self.shrink() if shrinks else self
            raise SimulationFailure(smallest.report(self.schedule.seed), smallest)

    def shrink(self) -> SimulationResult:
        """Return the result of a smaller schedule that violates the first violated invariant; this result if none is
        found, or if nothing is violated."""
        if not self.violations:
            return self
        name = self.violations[0].invariant

        def fails(schedule: Schedule) -> bool:
            violations = run_schedule(schedule, self._clients).violations
            return any(violation.invariant == name for violation in violations)

        return run_schedule(shrink_schedule(self.schedule, fails), self._clients)

    def report(self, seed: int | None = None) -> str:
        """Return the violations, the end of the history, and how to replay it; `seed` is that of the first history."""
        lines = str(self.history).split("\n")
        left_out = max(0, len(lines) - SHOWN_EVENTS)
        own = ", clients={...}" if self._clients else ""
        return "\n".join(
            [
                f"seed {self.schedule.seed if seed is None else seed} violates {len(self.violations)} invariants:",
                *map(str, self.violations[:5]),
                "",
                f"history{f' (without its first {left_out} events)' if left_out else ''}:",
                *lines[left_out:],
                "",
                "replay it with:",
                f"kwire.testing.simulate(schedule={self.schedule.to_json()!r}{own})",
            ]
        )


def simulate(
    seed: int = 0,
    *,
    steps: int = STEPS,
    clients: Mapping[str, ClientFactory] | None = None,
    has_unclean_elections: bool = False,
    has_chaos: bool = False,
    schedule: Schedule | str | None = None,
) -> SimulationResult:
    """Simulate three brokers and their clients under faults, and check the history.

    Model clients (idempotent and transactional producers; members of classic, consumer and share groups) work while
    brokers stop, disks fail, leaders move, and the network delays and loses. Then the faults end, and the clients
    finish. All is chosen by the seed: the same seed gives the same history, on each machine. No sockets, threads or
    clocks are used.

    Args:
        seed: the seed.
        steps: the number of faults.
        clients: functions that make the user's own clients, by name; these run beside the model clients.
        has_unclean_elections: whether replicas are elected that lack records: the checkers then report losses.
        has_chaos: whether brokers also disturb requests by the seed, as `kwire.testing.Kafka(chaos=seed)` does: all
            answers are lawful.
        schedule: a schedule to replay, or its JSON, as a failure prints it; then `seed` and `steps` are not used.

    Returns:
        The result; `result.check()` raises an error if an invariant is violated.

    Raises:
        ValueError: `steps` is negative, or `schedule` is no schedule.

    >>> result = simulate(seed=7, steps=4)
    >>> result.violations
    []
    >>> str(simulate(seed=7, steps=4).history) == str(result.history)
    True
    """
    if steps < 0:
        raise ValueError(f"steps must be 0 or more, not {steps}")
    own = dict(clients or {})
    if schedule is None:
        drawn = draw_schedule(seed, steps, is_unclean=has_unclean_elections, has_chaos=has_chaos)
        schedule = drawn.with_clients(list(own))
    return run_schedule(Schedule.from_json(schedule) if isinstance(schedule, str) else schedule, own)


def run_schedule(schedule: Schedule, clients: Mapping[str, ClientFactory]) -> SimulationResult:
    """Run a schedule, and check its history; raises ValueError if it has a client that `clients` does not make."""
    missing = [plan.name for plan in schedule.clients if plan.kind == "own" and plan.name not in clients]
    if missing:
        raise ValueError(f"the schedule has the client {missing[0]!r}, which `clients` must make")
    history = Simulation(schedule, clients).run()
    return SimulationResult(schedule, history, check_history(history), clients)
