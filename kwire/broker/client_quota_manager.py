"""Client quotas (KIP-13, KIP-546): the rates of users and clients, and for how long a client is throttled.

As Kafka's ClientQuotaManager; the apis are in `apis.configs.client_quotas`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

USER, CLIENT, IP = "user", "client-id", "ip"
PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
KEYS = (PRODUCE, FETCH, "request_percentage", "controller_mutation_rate")
CONNECTIONS = "connection_creation_rate"  # of an address; connections above it are delayed
IP_KEYS = (CONNECTIONS,)
WHOLE = frozenset((PRODUCE, FETCH, CONNECTIONS))  # quotas that are whole numbers
ANONYMOUS = "ANONYMOUS"  # the only user entity of quotas
# ClientQuotaManagerConfig: 11 samples of 1 s, of which the newest is not whole. Rate.windowSize is never less, so that
# the bytes of 10 s are free.
WINDOW = 10.0  # seconds
MOST_QUOTAS, MOST_CLIENTS = 1000, 10_000
QuotaEntity = frozenset[tuple[str, str | None]]  # a quota's entity types and names; None is the default


@dataclass(slots=True)
class QuotaBucket:
    """The number of bytes by which a client exceeds its rate, at a time."""

    level: float = 0.0
    at: float = 0.0


@dataclass(slots=True)
class ClientQuotaManager:
    """The client quotas, by entity and key.

    >>> quotas = ClientQuotaManager({frozenset({(CLIENT, "c")}): {PRODUCE: 1000.0}})
    >>> [quotas.throttle(PRODUCE, "c", 9_000, now) for now in (0.0, 0.0, 10.0)]
    [0, 8000, 7000]
    >>> quotas.throttle(PRODUCE, "d", 99_999, 0.0)
    0
    """

    values: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)
    _buckets: dict[tuple[str, str], QuotaBucket] = field(default_factory=dict)

    def rate(self, key: str, client_id: str) -> float | None:
        """Return the rate limit of a client; None if it has none. As in Kafka, the most specific entity applies."""
        for user in (ANONYMOUS, None, ""):
            for client in (client_id, None, ""):
                names = ((USER, user), (CLIENT, client))
                limit = self.values.get(frozenset(name for name in names if name[1] != ""), {}).get(key)
                if limit is not None:
                    return limit
        return None

    def throttle(self, key: str, client_id: str, size: int, now: float) -> int:
        """Count bytes of a client; return the throttle time in milliseconds. The bytes of `WINDOW` are free."""
        if not self.values:
            return 0
        rate = self.rate(key, client_id)
        if rate is None or rate <= 0:
            return 0
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.clear()
        bucket = self._buckets.setdefault((key, client_id), QuotaBucket(at=now))
        bucket.level = max(0.0, bucket.level - (now - bucket.at) * rate) + size
        bucket.at = now
        return max(0, round((bucket.level / rate - WINDOW) * 1000))  # QuotaUtils.throttleTime

    def give_back(self, key: str, client_id: str, size: int) -> None:
        """Forget bytes of a client that were counted and are not sent (ClientQuotaManager.unrecordQuotaSensor)."""
        bucket = self._buckets.get((key, client_id))
        if bucket is not None:
            bucket.level = max(0.0, bucket.level - size)

    def most_in_window(self, key: str, client_id: str) -> int | None:
        """Return the number of bytes that are free at once (ClientQuotaManager.maxValueInQuotaWindow); None for any."""
        rate = self.rate(key, client_id) if self.values else None
        return None if rate is None or rate <= 0 else int(rate * WINDOW)
