"""Client quotas (KIP-13, KIP-546): what is set for users and clients, and how long who is above it is to wait.

All users share the quotas of ANONYMOUS. The caller passes the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

USER, CLIENT = "user", "client-id"
PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
KEYS = (PRODUCE, FETCH, "request_percentage", "controller_mutation_rate")
ANONYMOUS = "ANONYMOUS"
MOST_QUOTAS, MOST_CLIENTS = 1000, 10_000

Entity = frozenset[tuple[str, str | None]]  # kinds and names; None is the default of its kind


@dataclass(slots=True)
class Bucket:
    """Bytes that a client is ahead of its rate, at a time."""

    level: float = 0.0
    at: float = 0.0


@dataclass(slots=True)
class Quotas:
    """The quotas, by entity and key.

    >>> quotas = Quotas({frozenset({(CLIENT, "c")}): {PRODUCE: 1000.0}})
    >>> [quotas.throttle(PRODUCE, "c", 1500, now) for now in (0.0, 0.0, 10.0)], quotas.throttle(PRODUCE, "d", 9999, 0.0)
    ([500, 2000, 500], 0)
    """

    values: dict[Entity, dict[str, float]] = field(default_factory=dict)
    _buckets: dict[tuple[str, str], Bucket] = field(default_factory=dict)

    def rate(self, key: str, client_id: str) -> float | None:
        """Return the rate of a client; None if it has none. The most special entity counts, as in Kafka."""
        for user in (ANONYMOUS, None, ""):
            for client in (client_id, None, ""):
                names = ((USER, user), (CLIENT, client))
                found = self.values.get(frozenset(one for one in names if one[1] != ""), {}).get(key)
                if found is not None:
                    return found
        return None

    def throttle(self, key: str, client_id: str, size: int, now: float) -> int:
        """Count bytes of a client; returns the milliseconds that it is to wait, with a second's bytes for nothing."""
        if not self.values:
            return 0
        rate = self.rate(key, client_id)
        if rate is None or rate <= 0:
            return 0
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.clear()
        bucket = self._buckets.setdefault((key, client_id), Bucket(at=now))
        bucket.level = max(0.0, bucket.level - (now - bucket.at) * rate) + size
        bucket.at = now
        return max(0, int((bucket.level - rate) / rate * 1000))
