"""Makes a failing schedule smaller: fewer faults, fewer clients, less time, as long as the same invariant fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from .schedule import OF_CLIENTS, ClientPlan, PlannedFault, Schedule

T = TypeVar("T")
Fails = Callable[[Schedule], bool]


def shrink_schedule(schedule: Schedule, fails: Fails, most_runs: int = 300) -> Schedule:
    """Return the smallest schedule found that still fails.

    Args:
        schedule: a schedule that fails.
        fails: runs a schedule, and returns whether it fails in the same way.
        most_runs: how many schedules to run at most.
    """
    runs = 0

    def tries(smaller: Schedule) -> bool:
        nonlocal runs
        runs += 1
        return runs <= most_runs and fails(smaller)

    before = None
    while before != schedule and runs < most_runs:
        before = schedule
        schedule = _shorten(schedule, tries)
        faults = minimize(schedule.faults, lambda rows, base=schedule: tries(replace(base, faults=rows)))  # type: ignore[misc]
        schedule = replace(schedule, faults=faults)
        schedule = _drop_clients(schedule, tries)
    return schedule


def minimize(rows: Sequence[T], fails: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Return a part of the rows that still fails, and of which no single row can be left out (delta debugging).

    >>> minimize(range(100), lambda rows: {17, 40} <= set(rows))
    (17, 40)
    """
    left = tuple(rows)
    size = max(1, len(rows))
    while left:
        for at in range(0, len(left), size):
            smaller = left[:at] + left[at + size :]
            if fails(smaller):
                left = smaller
                break
        else:
            if size == 1:
                break
            size = max(1, size // 2)
    return left


def _shorten(schedule: Schedule, fails: Fails) -> Schedule:
    """End the schedule earlier; faults after its end are left out."""
    for share in (0.25, 0.5, 0.75, 0.9):
        seconds = round(schedule.seconds * share, 1)
        faults = tuple(fault for fault in schedule.faults if fault.at < seconds)
        shorter = replace(schedule, seconds=seconds, faults=faults)
        if seconds >= 1.0 and fails(shorter):
            return shorter
    return schedule


def _drop_clients(schedule: Schedule, fails: Fails) -> Schedule:
    for client in reversed(schedule.clients):
        smaller = _leave_out(schedule, client)
        if fails(smaller):
            schedule = smaller
    return schedule


def _leave_out(schedule: Schedule, client: ClientPlan) -> Schedule:
    """Return a schedule without a client and its faults; those of later clients get their new numbers."""
    number = schedule.clients.index(client)
    faults: list[PlannedFault] = []
    for fault in schedule.faults:
        if fault.kind in OF_CLIENTS and fault.target == number:
            continue
        is_later = fault.kind in OF_CLIENTS and fault.target > number
        faults.append(fault._replace(target=fault.target - 1) if is_later else fault)
    clients = tuple(other for other in schedule.clients if other is not client)
    return replace(schedule, clients=clients, faults=tuple(faults))
