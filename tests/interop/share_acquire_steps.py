"""The steps of a share group's consumers with acquire modes (KIP-1206) and renewed locks (KIP-1222), good and bad ones.

`python -m tests.interop.share_acquire_steps HOST:PORT` prints a line for each, against any single broker;
`tests/data/share-acquire-kafka-4.4.0.txt` is what Kafka 4.4.0 answered.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.interop.share_group_steps import ACCEPT, GAP, LOCK_MS, REJECT, RELEASE, RENEW, Sharers
from tests.interop.transaction_steps import Line

NO_FETCH: dict[str, Any] = {"min_bytes": 0, "max_bytes": 0, "max_records": 0, "batch_size": 0}
OPTIMIZED, EXACTLY = 0, 1


def steps_of(group: Sharers) -> Iterator[Line]:
    """Take the steps."""
    group.ids = group.member_ids("ab")
    group.reads_from("earliest")
    for name in "ab":
        group.join(name)
    group.settled("a", "b")
    yield "the first fetches", [group.share_fetch(name, {0: ()}, wait=500) for name in "ab"]
    yield from _exact_limits(group)
    yield from _unusual_limits(group)
    yield from _renewals(group)
    yield from _renewals_with_fetches(group)
    yield from _locks(group)
    yield from _disabled_renewals(group)


def _exact_limits(group: Sharers) -> Iterator[Line]:
    group.send(0, 10, 10, 10)
    exact: dict[str, Any] = {"share_acquire_mode": EXACTLY}
    yield "three of a batch", group.share_fetch("a", max_records=3, wait=2000, **exact)
    yield "the next four, by another", group.share_fetch("b", max_records=4, **exact)
    yield "beyond the batch", group.share_fetch("a", max_records=6, **exact)
    yield "small batches", group.share_fetch("b", max_records=5, batch_size=2, **exact)
    yield "whole batches", group.share_fetch("a", max_records=1, share_acquire_mode=OPTIMIZED)
    yield "some are released", group.acknowledge("a", {0: [(0, 1, [RELEASE]), (7, 8, [RELEASE])]})
    yield "three of the released", group.share_fetch("b", max_records=3, **exact)
    yield "all are released", group.acknowledge("a", {0: [(2, 2, [RELEASE]), (9, 12, [RELEASE])]})
    yield "as many as there are", group.share_fetch("a", max_records=30, **exact)
    yield "the first one ends", [group.share_fetch("a", epoch=-1, max_records=30, **exact)[0]]
    yield "a session begins", group.share_fetch("a", {0: ()}, epoch=0, max_records=2, wait=2000, **exact)
    yield "as many again", group.share_fetch("a", max_records=100, **exact)
    yield "all are accepted", _accept_all(group, 30)


def _accept_all(group: Sharers, end: int) -> Any:
    """Accept each record below an offset, by whichever member holds it; return the start offset and the lag."""
    for offset in range(end):
        for name in "ab":
            group.acknowledge(name, {0: [(offset, offset, [ACCEPT])]})
    return group.offsets(indexes=(0,))


def _unusual_limits(group: Sharers) -> Iterator[Line]:
    group.send(0, 4)
    yield "no records", group.share_fetch("a", max_records=0)
    yield "no records, exactly", group.share_fetch("a", max_records=0, share_acquire_mode=EXACTLY)
    yield "a negative number", group.share_fetch("a", max_records=-1)
    yield "no bytes", group.share_fetch("a", max_bytes=0)
    yield "an unknown mode", [_fetch_in_mode(group, mode) for mode in (2, -1)]
    yield "what is there", group.share_fetch("a", max_records=3, share_acquire_mode=EXACTLY, wait=1000)
    yield "and the last one", group.share_fetch("a", max_records=3, share_acquire_mode=EXACTLY)
    yield "all are accepted", group.acknowledge("a", {0: [(30, 33, [ACCEPT])]})


def _fetch_in_mode(group: Sharers, mode: int) -> int:
    """Return the error code of a fetch; the epoch of the session counts those that fail inside, too."""
    code: int = group.share_fetch("a", share_acquire_mode=mode)[0]
    if code:
        group.sessions["a"] += 1
    return code


def _renewals(group: Sharers) -> Iterator[Line]:
    group.send(0, 10)
    renew: dict[str, Any] = {"is_renew_ack": True}
    yield "acquired", group.share_fetch("a", max_records=8, share_acquire_mode=EXACTLY, wait=2000)
    yield "renewed", group.acknowledge("a", {0: [(34, 41, [RENEW])]}, **renew)
    yield "renewed without saying so", group.acknowledge("a", {0: [(34, 41, [RENEW])]})
    yield "in an old version", group.acknowledge("a", {0: [(34, 41, [RENEW])]}, version=1)
    yield "an unknown type", group.acknowledge("a", {0: [(34, 34, [5])]}, **renew)
    yield "a negative type", group.acknowledge("a", {0: [(34, 34, [-1])]}, **renew)
    yield "nothing to renew", group.acknowledge("a", {0: [(34, 34, [ACCEPT])]}, **renew)
    yield "each its own", group.acknowledge("a", {0: [(35, 38, [RENEW, ACCEPT, RELEASE, RENEW])]}, **renew)
    yield "what has ended", group.acknowledge("a", {0: [(35, 36, [RENEW])]}, **renew)
    yield "what was released", group.acknowledge("a", {0: [(37, 37, [RENEW])]}, **renew)
    yield "what another has", group.acknowledge("b", {0: [(38, 38, [RENEW])]}, **renew)
    yield "what is not acquired", group.acknowledge("a", {0: [(42, 42, [RENEW])]}, **renew)
    yield "what does not exist", group.acknowledge("a", {0: [(60, 60, [RENEW])]}, **renew)
    yield "one good and one bad", group.acknowledge("a", {0: [(38, 39, [RENEW]), (42, 42, [RENEW])]}, **renew)
    yield "one twice", group.acknowledge("a", {0: [(38, 39, [ACCEPT]), (39, 40, [ACCEPT])]})
    yield "one renewed twice", group.acknowledge("a", {0: [(38, 39, [RENEW]), (39, 40, [RENEW])]}, **renew)
    yield "a gap", group.acknowledge("a", {0: [(38, 39, [GAP, RENEW])]}, **renew)
    yield "without acknowledgements", group.acknowledge("a", {0: []}, **renew)
    yield "without partitions", group.acknowledge("a", {}, **renew)


def _renewals_with_fetches(group: Sharers) -> Iterator[Line]:
    renew: dict[str, Any] = {"is_renew_ack": True, **NO_FETCH}
    yield "with a fetch", group.share_fetch("a", {0: [(39, 39, [RENEW])]}, is_renew_ack=True)
    for name in ("max_wait_ms", "min_bytes", "max_bytes", "max_records", "batch_size"):
        yield f"with {name}", group.share_fetch("a", {0: [(39, 39, [RENEW])]}, **{**renew, name: 1})
    yield "in an old version", group.share_fetch("a", {0: [(39, 39, [RENEW])]}, version=1)
    yield "without saying so", group.share_fetch("a", {0: [(39, 39, [RENEW])]}, max_records=1)
    yield "renewed and accepted", group.share_fetch("a", {0: [(39, 40, [RENEW, ACCEPT])]}, **renew)
    yield "nothing renewed", group.share_fetch("a", **renew)
    yield "another partition", group.share_fetch("a", {1: [(0, 0, [RENEW])]}, **renew)
    yield "an unknown partition", group.share_fetch("a", {7: [(0, 0, [RENEW])]}, **renew)
    yield "a session begins with it", group.share_fetch("b", {0: ()}, epoch=0, **renew)
    yield "begins with a renewal", group.share_fetch("b", {0: [(39, 39, [RENEW])]}, epoch=0, **renew)
    yield "the last of a session", group.share_fetch("a", {0: [(39, 39, [RENEW])]}, epoch=-1, **renew)
    yield "all of it", group.share_fetch("b", {0: ()}, epoch=0, wait=2000)
    acquired = [(35, 35), (37, 37), (39, 39), (41, 43)]
    yield "too many", group.acknowledge("b", {0: [(37, 43, [ACCEPT])]})
    yield "accepted", group.acknowledge("b", {0: [(*offsets, [ACCEPT]) for offsets in acquired]})
    yield "offsets", group.offsets(indexes=(0,))


def _locks(group: Sharers) -> Iterator[Line]:
    group.configure("share.record.lock.duration.ms", str(LOCK_MS))
    group.send(0, 4)
    renew = {"is_renew_ack": True}
    yield "locked", group.share_fetch("b", wait=2000)
    group.rest(10, "a", "b")
    yield "one batch in part", group.acknowledge("b", {0: [(45, 46, [RENEW])]}, **renew)
    group.rest(8, "a", "b")
    yield "the others are free", group.share_fetch("b", wait=3000, max_records=1, share_acquire_mode=EXACTLY)
    yield "and the rest", group.share_fetch("b", max_records=5, share_acquire_mode=EXACTLY)
    yield "a refused renewal", group.acknowledge("b", {0: [(45, 45, [RENEW]), (99, 99, [RENEW])]}, **renew)
    group.rest(12, "a", "b")
    yield "accepted", group.acknowledge("b", {0: [(44, 44, [ACCEPT]), (47, 47, [REJECT])]})
    yield "offsets", group.offsets(indexes=(0,))


def _disabled_renewals(group: Sharers) -> Iterator[Line]:
    group.send(0, 3)
    yield "what is left, and new ones", group.share_fetch("b", wait=2000)
    yield "accepted", group.acknowledge("b", {0: [(45, 46, [ACCEPT])]})
    yield "renewals are disabled", group.configure("share.renew.acknowledge.enable", "false")
    yield "renewed", group.acknowledge("b", {0: [(48, 50, [RENEW])]}, is_renew_ack=True)
    yield "some accepted", group.acknowledge("b", {0: [(48, 50, [ACCEPT, RENEW, ACCEPT])]}, is_renew_ack=True)
    yield "none of it", group.acknowledge("b", {0: [(48, 48, [ACCEPT])]})
    yield "renewals are enabled", group.configure("share.renew.acknowledge.enable", "true")
    yield "renewed again", group.acknowledge("b", {0: [(49, 50, [RENEW])]}, is_renew_ack=True)


def warm_up(place: str) -> None:
    """Wait until a new broker has made the topic with the state of share groups, and gives records of a partition."""
    group = Sharers(place)
    group.begin()
    group.ids = group.member_ids("a")
    group.reads_from("earliest")
    group.join("a")
    group.settled("a")
    group.send(0, 1)
    group.until(
        lambda: group.share_fetch("a", {0: ()}, epoch=0, wait=1000),
        lambda answer: any(acquired for _, _, _, acquired, _ in answer[2]),
    )
    for connection in group.connections.values():
        connection.close()


def lines(place: str, pause: Callable[[float], None] = time.sleep, patience: float = 1.0) -> list[str]:
    """Take all steps; returns a line for each."""
    group = Sharers(place, pause)
    group.patience = patience
    try:
        group.begin()
        return [f"{label}: {value}" for label, value in steps_of(group)]
    finally:
        for connection in group.connections.values():
            connection.close()


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(sys.argv[1])) + "\n")
