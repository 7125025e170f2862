"""Counts frames by what they have in common: whole `Frame`s, or what captures give in their stead, by the million."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..faults import UnexpectedResponse
from ..frames import Frame, FrameDecoder, Request, Response, Result, Undecodable, cut_short
from ..frames.peeking import Peek, peek_of
from ..frames.pieces import BareToken, unexpected_response
from ..frames.said import Batch
from ..gist import Gist, software_of
from ..spec.catalog import Catalog, catalog_for
from ..spec.releases import releases
from .counts import NOTHING, SECOND, Count, Row, User, ip_of
from .talks import Talks

API_VERSIONS, LEAST_TELLING = b"\x00\x12", b"\x00\x03"
# Frames, bytes, what could not be read, and of whom.
Counted = tuple[int, int, dict[str, int], list[tuple[User, tuple[str, ...], Count]]]
MOST_SOFTWARE = 4096  # requests of ApiVersions whose bytes are remembered


class Traffic:
    """Counts frames.

    Args:
        by: the columns, some of `COLUMNS`.
        errors: count error codes too, for which bodies are decoded.
        catalog: the specs to use; those of Kafka's releases unless told.

    Attributes:
        frames: whole frames.
        bytes: of these, and of all other pieces.
        unread: what is neither request nor response, by the codes of `DecodeError`.

    >>> import kwire
    >>> traffic = Traffic(["api", "version"])
    >>> traffic.add(kwire.Frame(kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1)))
    >>> [(row.key, row.count.requests) for row in traffic.rows()]
    [(('Metadata', '1'), 1)]
    """

    def __init__(self, by: Sequence[str], *, errors: bool = False, catalog: Catalog | None = None) -> None:
        self.by: tuple[str, ...] = tuple(by)
        self.catalog: Catalog = catalog or catalog_for()
        self.frames: int = 0
        self.bytes: int = 0
        self.unread: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()  # of all frames, each counted once
        self._topics = "topic" in self.by
        self.deep: bool = errors or self._topics
        self._decoder = FrameDecoder(self.catalog)
        self._gist = Gist()
        self._counts: dict[tuple[User, tuple[str, ...]], Count] = {}
        self._software: dict[object, dict[str | None, str]] = {}  # by connection and client id
        self._told: dict[bytes, str | None] = {}  # what requests of ApiVersions tell, by their bytes
        self._talks = Talks(self)

    def add(self, frame: Frame) -> None:
        """Count one frame."""
        self.frames += 1
        self.bytes += len(frame.data)
        for number in frame.closed:
            self._software.pop(number, None)
        connection, header = self._decoder.connections.receive(frame)
        peek = peek_of(frame, header, connection.apis)
        result = self._decoder.result(frame, connection, header) if self.deep else None
        topics, errors = self._look(result, peek) if result is not None else ((), ())
        if peek.is_request is None:
            self.leave_out(frame, lossy=connection.lossy)
            return
        ip, software = ip_of(frame.source.client), self._software_of(frame, peek)
        count = self.count_of(peek.api_key, peek.version, peek.client_id, ip, software, topics)
        if errors:
            self.errors.update(errors)
            count.errors.update(errors)
        if peek.is_request:
            count.add_request(len(frame.data))
        else:
            time = frame.source.time
            took = None if peek.asked_at is None or time is None else round((time - peek.asked_at) * SECOND)
            count.add_response(len(frame.data), took)

    def leave_out(self, frame: Frame, *, lossy: bool) -> None:
        """Note what is neither request nor response; `lossy`: bytes of its connection are missing."""
        error = frame.fault or cut_short(frame.data)
        if error is None:
            result = FrameDecoder(self.catalog).decode(frame)
            error = result.error if isinstance(result, Undecodable) else None
            if error is None or isinstance(error, UnexpectedResponse):
                error = unexpected_response(0, None, lossy=lossy)
        elif not isinstance(error, BareToken):
            self.frames -= 1  # it is no whole frame
        self.unread[error.code] += 1

    def add_batch(self, batch: Batch) -> None:
        """Count what the connections of a capture say; the same as to `add` its frames, but much quicker.

        Not for a `deep` count, which needs frames.
        """
        self._talks.add(batch)

    @property
    def counted(self) -> Counted:
        """All that was counted, to be added to what others have."""
        return self.frames, self.bytes, dict(self.unread), [(*key, count) for key, count in self._counts.items()]

    def add_counted(self, counted: Counted) -> None:
        """Add what another `Traffic` of the same columns has counted, but for errors."""
        frames, size, unread, counts = counted
        self.frames, self.bytes = self.frames + frames, self.bytes + size
        self.unread.update(unread)
        for user, topics, count in counts:
            self._counts.setdefault((user, topics), Count()).add(count)

    def rows(self) -> list[Row]:
        """Return what was counted, the most requests first."""
        rows: dict[tuple[str, ...], Count] = {}
        for (user, topics), count in self._counts.items():
            name = releases().name_of(None, user.api_key) or self._name(user)
            values = {**user._asdict(), "api": name, "version": str(user.version)}
            for topic in topics or (NOTHING,):
                key = tuple([topic if column == "topic" else values[column] for column in self.by])
                rows.setdefault(key, Count()).add(count)
        found = [Row(key, count) for key, count in rows.items()]
        return sorted(found, key=lambda row: (-row.count.requests, -row.count.responses, row.key))

    @property
    def used(self) -> dict[User, int]:
        """How many requests each user has made."""
        used: Counter[User] = Counter()
        for (user, _), count in self._counts.items():
            if count.requests:
                used[user] += count.requests
        return used

    def count_of(
        self, key: int | None, version: int, client: str | None, ip: str, software: str, topics: tuple[str, ...] = ()
    ) -> Count:
        """Return what counts the frames of a user, given what a frame's header says."""
        user = User(-1 if key is None else key, version, NOTHING if client is None else client, software, ip)
        count = self._counts.get((user, topics))
        if count is None:
            count = self._counts[user, topics] = Count()
        return count

    def _look(self, result: Result, peek: Peek) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the topics and errors of a body."""
        if not isinstance(result, Request | Response):
            return (), () if peek.is_request is None else ("undecodable",)
        facts = self._gist.facts(result.codec, result.message)
        return facts.topics if self._topics else (), tuple(map(str, facts.errors))

    def _software_of(self, frame: Frame, peek: Peek) -> str:
        """Return the software of a connection's client, as its ApiVersions request told it."""
        connection = _connection(frame)
        told = self.software_in(frame.data) if peek.is_request else None
        if told is not None:
            self._software.setdefault(connection, {})[peek.client_id] = told
        return self._software.get(connection, {}).get(peek.client_id, NOTHING)

    def software_in(self, data: bytes) -> str | None:
        """Return the client's software that a request tells (KIP-511); None if it is no such request."""
        if data[4:6] != API_VERSIONS or data[6:8] < LEAST_TELLING:
            return None
        request = data[4:8] + data[12:]  # all but the correlation id
        if request not in self._told:
            if len(self._told) >= MOST_SOFTWARE:
                self._told.clear()
            result = FrameDecoder(self.catalog).decode(Frame(data))
            self._told[request] = software_of(result.message) or NOTHING if isinstance(result, Request) else None
        return self._told[request]

    def _name(self, user: User) -> str:
        spec = self.catalog.find(user.api_key, "request", user.version)
        return spec.api_name if spec else str(user.api_key)


def _connection(frame: Frame) -> object:
    source = frame.source
    return (source.client, source.broker) if source.connection is None else source.connection
