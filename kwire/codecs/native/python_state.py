"""The state of Kafka connections, which the fast path of captures shares with the general path.

These are classes of the native engine, or plain classes with the same attributes if another engine is used.
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from .engine_choice import ENGINE

if TYPE_CHECKING or ENGINE == "native":
    from ._engine import NO_CALLS as NO_CALLS
    from ._engine import CallState as CallState
    from ._engine import ConversationState as ConversationState
    from ._engine import EndsState as EndsState
    from ._engine import FrameBatch as FrameBatch
    from ._engine import FrameBuffer as FrameBuffer
    from ._engine import FrameCount as FrameCount
    from ._engine import FrameRows as FrameRows
    from ._engine import InFlight as InFlight
    from ._engine import KindState as KindState
    from ._engine import PairingState as PairingState
    from ._engine import RecogniserState as RecogniserState
    from ._engine import Selection as Selection
else:

    class _State:
        """Sets attributes before `__init__`, like the engine's classes, so that subclasses need not call it.

        Subclasses must not have a method `_make_state`.
        """

        def __new__(cls, *arguments: Any, **named: Any) -> Any:
            self = super().__new__(cls)
            self._make_state(*arguments, **named)
            return self

    NO_CALLS: dict[Any, Any] = {}

    class InFlight(deque[Any]):
        """The headers of requests without a response, oldest first; bounded to the newest."""

        def __init__(self) -> None:
            super().__init__(maxlen=65536)

        @property
        def entries(self) -> list[Any]:
            """The headers, from which `go_on` continues."""
            return list(self)

        def go_on(self, entries: list[Any]) -> None:
            """Continue with the requests of another process."""
            self.extend(entries)

    class CallState(_State):
        """The common part of requests."""

        def _make_state(self, *_: Any) -> None:
            self.note = self._downgraded = None

    class PairingState(_State):
        """The state of a connection that uses Kafka's protocol."""

        def _make_state(self, *_: Any, **__: Any) -> None:
            self.in_flight = InFlight()
            self._client = b""
            self.tokens = 0
            self._known = self._calls = NO_CALLS
            self.authenticating = self.expects_tokens = self.lossy = False
            self.answers = self.group = self.mechanism = self._doubt = self._ids = self.call = self.note = None

    class KindState:
        """The requests or the responses of a call."""

    class Selection(_State):
        """The query of a writer."""

        def _make_state(self, *arguments: Any, **named: Any) -> None:
            self.decodes = self.counts = self.has_rows = False
            self.shown, self.limit = 0, 1 << 62

    class FrameCount:
        """Counts of the frames of one call."""

        def __init__(self, owner: Any) -> None:
            self.owner = owner

    class FrameBatch(list[Any]):
        """Frames that were captured together, in order."""

        def others(self) -> list[Any]:
            """Return the items that are not complete frames: those with a fault, and numbers."""
            return [item for item in self if isinstance(item, int) or item.fault is not None]

        def add_rows(self, pairing: Any, connections: dict[Any, Any], rows: Any) -> None:
            """Pass all frames to the pairing, which adds the rows."""
            for item in self:
                pairing.take(item)

        def pass_over(self, writer: Any, number: int) -> int:
            """Pass all frames to the writer, whose lines are not used."""
            for item in self:
                if isinstance(item, int):
                    writer.forget(item)
                else:
                    writer.rest(item, number, None, None)
                    number += 1
            return number

        def count_frames(self, counter: Any) -> tuple[int, int, list[FrameCount]]:
            """Pass all frames to the counter."""
            for item in self:
                counter.count(item)
            return 0, 0, []

        def tally(self, tally: Any, number: int, width: float) -> Any:
            """Pass all frames to the tally of a report."""
            for item in self:
                if isinstance(item, int):
                    tally.forget(item)
                else:
                    tally.rest(item, number, None, None)
                    number += 1
            return number, [], {}, ({}, {})

    class FrameRows(list[Any]):
        """Rows of frames, in order; columns are lists."""

        def __init__(self, keeps_bytes: bool = True) -> None:
            self.keeps_bytes = keeps_bytes
            self._measured = self._bytes = 0  # rows, and their size in bytes

        __call__ = list.append

        @property
        def size(self) -> int:
            """The number of bytes of all frames."""
            self._bytes += sum(len(row.data) for row in self[self._measured :])
            self._measured = len(self)
            return self._bytes

        def clear(self) -> None:
            """Remove all rows."""
            self.take()

        def take(self, start: int = 0) -> FrameRows:
            """Remove and return the rows from an index on."""
            taken = FrameRows(self.keeps_bytes)
            taken += self[start:]
            del self[start:]
            self._measured = self._bytes = 0
            return taken

        def parts(self, most_rows: int, most_bytes: int) -> list[tuple[int, FrameRows]]:
            """Divide the rows into parts, each with the index of its first row; see `FrameRows` of the engine."""
            parts = list[tuple[int, FrameRows]]()
            size = most_bytes
            for index, row in enumerate(self):
                if size >= most_bytes or len(parts[-1][1]) >= most_rows:
                    parts.append((index, FrameRows(self.keeps_bytes)))
                    size = 0
                parts[-1][1].append(row)
                size += len(row[1])
            return parts

        def faults(self) -> dict[int, Any]:
            """Return the faults by the indices of their rows."""
            return {index: row[8] for index, row in enumerate(self) if row[8] is not None}

        def offsets(self) -> list[Any]:
            """Return the offsets."""
            return [row[0] for row in self]

        def sizes(self) -> list[Any]:
            """Return the sizes in bytes."""
            return [len(row.data) for row in self]

        def times(self, convert: Any) -> list[Any]:
            """Return the times, converted."""
            return [convert(row[2]) for row in self]

        def directions(self) -> list[Any]:
            """Return whether each row is a request; None if that is unknown."""
            return [None if row[4] is None else int(row[4]) for row in self]

        def correlation_ids(self) -> list[Any]:
            """Return the correlation ids."""
            return [row[6] for row in self]

        def calls(self) -> tuple[list[Any], list[Any]]:
            """Return the distinct pairs of api and client id, and for each row the index of its pair."""
            return _distinct([(row[5], row[7]) for row in self])

        def ends(self) -> tuple[list[Any], list[Any]]:
            """Return the distinct endpoints of connections, and for each row the index of its endpoints."""
            return _distinct([row[3] for row in self])

    def _distinct(values: list[Any]) -> tuple[list[Any], list[Any]]:
        known: dict[Any, int] = {}
        index = [known.setdefault(value, len(known)) for value in values]
        return list(known), index

    class FrameBuffer(_State):
        """The received bytes of an incomplete frame."""

        def _make_state(self, limit: int = 100 << 20, min_size: int = 4) -> None:
            self.limit, self.least, self._buffer = limit, min_size, bytearray()
            self.missing = self.passed = self._start = self._count = 0

    class RecogniserState:
        """What the search for frames shares over all connections of a capture."""

    class EndsState(_State):
        """The connection on which a frame arrived."""

        def _make_state(self, connection: int = -1, key: bytes = b"", side: int = 0) -> None:
            self.connection = connection
            self.key = key
            self.side = side
            self.texts = self.note = None

    class ConversationState(_State):
        """A Kafka connection, with its requests that have no response."""

        def _make_state(
            self, recogniser: Any = None, connection: Any = None, client: int = 0, head: bytes = b""
        ) -> None:
            self.recogniser = recogniser
            self.connection = connection
            self.client = client
            self.readers = self.reader(), self.reader()
            self.tokens = False
            self.client_id = None
            self.general = None
            if connection is not None:
                self.ends = self.ends_class(connection.number, connection.key, client)
            number = int.from_bytes(head[4:], "big")
            self.newest = number if head and number < 0x7FFFFFF8 else None
            self.answered = None
            self._expected = deque(maxlen=1024)
            self._apis = {}
            if head:
                self.add_api(int.from_bytes(head[:4], "big", signed=True))

        @property
        def awaited(self) -> int:
            """Return the number of awaited responses."""
            return len(self._expected)

        @property
        def apis(self) -> list[bytes]:
            """Return the api keys and versions of requests, as in their headers."""
            return [api.to_bytes(4, "big", signed=True) for api in self._apis]

        def expected(self, count: int) -> list[tuple[int, int | None]]:
            """Return the api and correlation id of the next responses."""
            return list(islice(self._expected, count))

        def position_of(self, correlation_id: int) -> int:
            """Return how many awaited responses come before the one with a correlation id; -1 if none has it."""
            return next((index for index, (_, awaited) in enumerate(self._expected) if awaited == correlation_id), -1)

        def expect(self, api: int, correlation_id: int | None) -> None:
            """Add an awaited response."""
            self._expected.append((api, correlation_id))

        def settle(self, count: int) -> None:
            """Remove the first `count` awaited responses."""
            for _ in range(min(count, len(self._expected))):
                self._expected.popleft()

        def add_api(self, api: int) -> None:
            """Add an api key and version of a request."""
            if len(self._apis) < 32:
                self._apis[api] = None
