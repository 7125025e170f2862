"""Compares the traffic of two captures: clients, versions, topics, errors, latencies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..protocol.frames.captured_frame import SECOND
from .latencies import About, Answered, Latencies, percentile
from .traffic import Traffic
from .users import NOTHING, User

BY = ("client", "software", "api", "version", "topic", "error")
SHARES = {"p50": 0.5, "p99": 0.99}
LEAST_RISE = 1_000_000  # nanoseconds; a smaller rise of a latency is noise


class Limits(NamedTuple):
    """From when on a difference is worse.

    Attributes:
        errors: percentage points by which the share of an error among the responses of an api may rise.
        latency: percent by which a percentile of an api's latency may rise.
        least: the responses of an api that are needed in both captures to compare its latencies.
    """

    errors: float = 1.0
    latency: float = 50.0
    least: int = 20


class Difference(NamedTuple):
    """A difference: what it is about, its value in either capture as text, and whether the second is worse."""

    kind: str
    subject: str
    before: str
    after: str
    is_worse: bool = False


class SlownessByApi(Latencies):
    """Latencies by api without the waits that requests asked for, in nanoseconds."""

    def __init__(self) -> None:
        super().__init__(0)
        self.by_api: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, answered: Answered, user: User, about: About = ()) -> None:
        """Count one request."""
        self.by_api[answered.user.api_key].append(answered.slowness)


@dataclass
class TrafficProfile:
    """What a comparison needs of a capture.

    Attributes:
        clients: requests by client id and software.
        versions: the versions that a client uses, by client id and api.
        topics: requests that name a topic.
        errors: responses with an error, by api and error.
        responses: responses by api.
        latencies: nanoseconds beyond the wait that was asked for, by api, sorted.
    """

    clients: Counter[tuple[str, str]] = field(default_factory=Counter)
    versions: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    topics: Counter[str] = field(default_factory=Counter)
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    responses: Counter[str] = field(default_factory=Counter)
    latencies: dict[str, list[int]] = field(default_factory=dict)


def new_traffic() -> tuple[Traffic, SlownessByApi]:
    """Return what counts a capture for `profile_of`."""
    slowness = SlownessByApi()
    return Traffic(BY, latencies=slowness), slowness


def profile_of(traffic: Traffic, slowness: SlownessByApi) -> TrafficProfile:
    """Return the profile of a capture that was counted with `new_traffic`."""
    profile = TrafficProfile()
    names: dict[int, str] = {}
    for user, about, count in traffic.counted[4]:
        name = names.setdefault(user.api_key, traffic.name_of(user))
        if count.requests:
            profile.clients[user.client, user.software] += count.requests
            profile.versions.setdefault((user.client, name), set()).add(user.version)
        profile.responses[name] += count.responses
        profile.errors.update({(name, error): count.responses for error in {error for _, error in about} - {NOTHING}})
        profile.topics.update(dict.fromkeys({topic for topic, _ in about} - {NOTHING}, count.requests))
    profile.latencies = {names.get(key, str(key)): sorted(times) for key, times in slowness.by_api.items()}
    return profile


def compare_profiles(before: TrafficProfile, after: TrafficProfile, limits: Limits) -> Iterator[Difference]:
    """Yield the differences of two profiles: clients, versions, topics, errors, latencies.

    >>> old, new = TrafficProfile(), TrafficProfile()
    >>> old.responses["Fetch"] = new.responses["Fetch"] = 100
    >>> new.errors["Fetch", "NOT_LEADER_OR_FOLLOWER"] = 3
    >>> next(compare_profiles(old, new, Limits()))
    Difference(kind='error', subject='Fetch NOT_LEADER_OR_FOLLOWER', before='-', after='3 of 100', is_worse=True)
    """
    yield from _compare_counts("client", _name_clients(before.clients), _name_clients(after.clients))
    for client, api in sorted(before.versions.keys() & after.versions.keys()):
        old, new = before.versions[client, api], after.versions[client, api]
        if old != new:
            yield Difference("version", f"{client} {api}", _versions(old), _versions(new))
    yield from _compare_counts("topic", _requests(before.topics), _requests(after.topics))
    yield from _compare_errors(before, after, limits)
    for api in sorted(before.latencies.keys() & after.latencies.keys()):
        yield from _compare_latencies(api, before.latencies[api], after.latencies[api], limits)


def _name_clients(clients: Mapping[tuple[str, str], int]) -> dict[str, str]:
    named: Counter[str] = Counter()
    for (client, software), count in clients.items():
        named[client if software == NOTHING else f"{client} ({software})"] += count
    return _requests(named)


def _requests(counts: Mapping[str, int]) -> dict[str, str]:
    return {name: f"{count} request{'s' * (count != 1)}" for name, count in counts.items() if count}


def _compare_counts(kind: str, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    """Yield what only one side has."""
    for name in sorted(before.keys() ^ after.keys()):
        yield Difference(kind, name, before.get(name, NOTHING), after.get(name, NOTHING))


def _versions(versions: set[int]) -> str:
    return ", ".join(map(str, sorted(versions)))


def _compare_errors(before: TrafficProfile, after: TrafficProfile, limits: Limits) -> Iterator[Difference]:
    for key in sorted(before.errors.keys() | after.errors.keys()):
        api, error = key
        old, new = before.errors[key], after.errors[key]
        old_share = _percent(old, before.responses[api])
        new_share = _percent(new, after.responses[api])
        is_worse = new_share - old_share > limits.errors
        if is_worse or not (old and new) or old_share - new_share > limits.errors:
            texts = _share(old, before.responses[api]), _share(new, after.responses[api])
            yield Difference("error", f"{api} {error}", *texts, is_worse=is_worse)


def _share(count: int, total: int) -> str:
    return f"{count} of {total}" if count else NOTHING


def _percent(count: int, total: int) -> float:
    return 100 * count / total if total else 0.0


def _compare_latencies(api: str, before: list[int], after: list[int], limits: Limits) -> Iterator[Difference]:
    if min(len(before), len(after)) < limits.least:
        return
    for name, share in SHARES.items():
        old, new = percentile(before, share), percentile(after, share)
        if abs(new - old) * SECOND < LEAST_RISE:
            continue
        is_worse = new > old * (1 + limits.latency / 100)
        if is_worse or old > new * (1 + limits.latency / 100):
            yield Difference("latency", f"{api} {name}", f"{old * 1000:.2f} ms", f"{new * 1000:.2f} ms", is_worse)
