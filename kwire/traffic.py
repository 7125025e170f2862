"""Counts frames by what they have in common, and finds who asks for what a release does not speak.

Values in, values out: knows no files and no text. Bodies are decoded only where a column needs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .catalog import Catalog, catalog_for
from .frames import Frame, FrameDecoder, Request, Response
from .frames.peeking import HeaderReader, Peek
from .gist import Gist, software_of
from .releases import release, releases

COLUMNS = ("client", "api", "version", "ip", "topic", "software")
API_VERSIONS = 18
NOTHING = "-"


@dataclass(slots=True)
class Count:
    """What was counted of some frames. A frame about several topics counts in the rows of all of them.

    Bytes are those of whole frames; `seconds` are between request and answer.
    """

    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    answered: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float | None:
        """The mean time between request and answer in seconds; None where there are no times."""
        return self.seconds / self.answered if self.answered else None

    def add(self, frame: Frame, peek: Peek, errors: tuple[str, ...]) -> None:
        """Count one frame."""
        if errors:
            self.errors.update(errors)
        if peek.is_request:
            self.requests += 1
            self.request_bytes += len(frame.data)
            return
        self.responses += 1
        self.response_bytes += len(frame.data)
        if peek.asked_at is not None and frame.source.time is not None:
            took = frame.source.time - peek.asked_at
            self.answered += 1
            self.seconds += took
            self.longest = max(self.longest, took)


class _User(NamedTuple):
    """Who uses which version of an api."""

    api_key: int
    version: int
    client: str
    software: str
    ip: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: the values of its columns, and what was counted."""

    key: tuple[str, ...]
    count: Count


class Traffic:
    """Counts frames.

    Args:
        by: the columns, some of `COLUMNS`.
        errors: count error codes too, for which bodies are decoded.
        catalog: the specs to use; those of Kafka's releases unless told.

    >>> import kwire
    >>> traffic = Traffic(["api", "version"])
    >>> traffic.add(kwire.Frame(kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1)))
    >>> [(row.key, row.count.requests) for row in traffic.rows()]
    [(('Metadata', '1'), 1)]
    """

    def __init__(self, by: Sequence[str], *, errors: bool = False, catalog: Catalog | None = None) -> None:
        self.by = tuple(by)
        self.catalog = catalog or catalog_for()
        self.frames = self.bytes = self.neither = 0
        self.errors: Counter[str] = Counter()  # of all frames, each counted once
        self.used: dict[_User, int] = {}  # -> requests
        self._topics = "topic" in self.by
        self._deep = errors or self._topics
        self._headers = HeaderReader(self.catalog)
        self._decoder = FrameDecoder(self.catalog)
        self._gist = Gist()
        self._counts: dict[tuple[str, ...], Count] = {}
        self._groups: dict[tuple[_User, tuple[str, ...]], list[Count]] = {}
        self._software: dict[tuple[str | None, str | None, str | None], str] = {}

    def add(self, frame: Frame) -> None:
        """Count one frame."""
        self.frames += 1
        self.bytes += len(frame.data)
        peek = self._headers.read(frame)
        topics, errors = self._look(frame, peek) if self._deep else ((), ())
        if peek.is_request is None:
            self.neither += 1
            return
        self.errors.update(errors)
        user = _User(
            peek.api_key,
            peek.version,
            NOTHING if peek.client_id is None else peek.client_id,
            self._software_of(frame, peek),
            (frame.source.client or NOTHING).rpartition(":")[0] or NOTHING,
        )
        if peek.is_request:
            self.used[user] = self.used.get(user, 0) + 1
        group = user, topics
        counts = self._groups.get(group)
        if counts is None:
            counts = self._groups[group] = self._counts_of(user, topics)
        for count in counts:
            count.add(frame, peek, errors)

    def rows(self) -> list[Row]:
        """Return what was counted, the most requests first."""
        rows = [Row(key, count) for key, count in self._counts.items()]
        return sorted(rows, key=lambda row: (-row.count.requests, -row.count.responses, row.key))

    def _counts_of(self, user: _User, topics: tuple[str, ...]) -> list[Count]:
        """Return the counts of all rows that a frame belongs to: one for each of its topics."""
        name = releases().name_of(None, user.api_key) or self._name(user)
        values = {**user._asdict(), "api": name, "version": str(user.version)}
        found = []
        for topic in topics or (NOTHING,):
            key = tuple([topic if column == "topic" else values[column] for column in self.by])
            found.append(self._counts.setdefault(key, Count()))
        return found

    def _look(self, frame: Frame, peek: Peek) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Decode a body for its topics and errors."""
        result = self._decoder.decode(frame)
        if not isinstance(result, Request | Response):
            return (), () if peek.is_request is None else ("undecodable",)
        facts = self._gist.facts(result.codec, result.message)
        return facts.topics if self._topics else (), tuple(map(str, facts.errors))

    def _software_of(self, frame: Frame, peek: Peek) -> str:
        """Return the software of a connection's client, as its ApiVersions request told it (KIP-511)."""
        key = frame.source.client, frame.source.broker, peek.client_id
        if peek.api_key == API_VERSIONS and peek.is_request and peek.version >= 3:
            result = FrameDecoder(self.catalog).decode(frame)
            if isinstance(result, Request):
                self._software[key] = software_of(result.message) or NOTHING
        return self._software.get(key, NOTHING)

    def _name(self, user: _User) -> str:
        spec = self.catalog.find(user.api_key, "request", user.version)
        return spec.api_name if spec else str(user.api_key)


class Unspoken(NamedTuple):
    """Requests of a client that a release does not understand.

    `breaks` is false where the version is newer than the release's: clients that ask for versions use an older one.
    `why` says in words what the release does.
    """

    client: str
    software: str
    ip: str
    api: str
    version: int
    requests: int
    breaks: bool
    why: str


def unspoken(traffic: Traffic, release_name: str) -> list[Unspoken]:
    """Return who uses what a release does not speak, those that break first.

    Args:
        traffic: what was counted, by whatever columns.
        release_name: such as `4.0`.

    Raises:
        UnknownMessage: there is no such release.
    """
    found = []
    new = release(release_name)
    for user, requests in traffic.used.items():
        if user.api_key in releases().apis:
            spoken = new.versions(user.api_key)
            if user.version not in spoken:
                breaks = not spoken or user.version < spoken.first
                why = f"{release_name} speaks {spoken}" if spoken else f"{release_name} has no such api"
                api = releases().name_of(None, user.api_key)
                who = user.client, user.software, user.ip
                found.append(Unspoken(*who, api, user.version, requests, breaks, why))
    return sorted(found, key=lambda one: (not one.breaks, one.client, one.software, one.ip, one.api, one.version))
