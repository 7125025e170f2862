"""Counts the frames of a capture into a `Tally`, and reads each body that comes again only once.

Only what nearly all frames are; the rest is decoded, and counted one by one.
"""

from __future__ import annotations

from typing import Any

from ..codecs import Codec
from ..frames import FrameDecoder
from ..frames.apis import Call
from ..frames.repeats import Bodies, Kind, Repeats, decode_clean
from ..frames.said import SECOND, Batch, Said, frame_of
from ..gist import error_codes
from .tally import Tally

SIZE = 128  # bytes that an error code counts where it is held


class CapturedTally:
    """Counts the frames of one capture.

    Args:
        tally: what they are counted in.
        decoder: decodes what is left to it; its connections are those of this capture alone.
        file: the name of the capture.
    """

    def __init__(self, tally: Tally, decoder: FrameDecoder, file: str) -> None:
        self.tally: Tally = tally
        self.decoder: FrameDecoder = decoder
        self.file: str = file
        self._repeats = Repeats(_Kind, self._codes_of, lambda codes: len(codes) * SIZE)
        self._frames: dict[int, list[Any]] = {}  # by connection: its ends, and the frames that are not in the tally yet
        self._changed: set[_Kind] = set()  # what has counts that are not in the tally yet
        self._times: tuple[list[int], list[int]] = [], []  # of responses, of requests
        self._number = 0

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        for said in batch:
            if type(said) is tuple:
                self._count(said)
                self._number += 1
            else:
                self.decoder.connections.forget(said)
        for kind in self._changed:
            kind.flush(self.tally)
        self._changed.clear()
        for ends, count in self._frames.values():
            self.tally.connections.add((ends.client, ends.broker), count)
        self._frames.clear()
        for word, times in zip(("response", "request"), self._times, strict=True):
            self.tally.add_times(word, [time / SECOND for time in times])
            times.clear()

    def _count(self, said: Said) -> None:
        ends, asked, offset, now, data, _, _, _ = said
        connection = self.decoder.connections.on(ends.connection)
        header, kind, codes = self._repeats.take(connection, said)
        if kind is None or codes is None or now is None:
            frame = frame_of(said, self.file, self._number)
            self.tally.add(self.decoder.result(frame, connection, header, SECOND))
            return
        kind.count += 1
        kind.size += len(data)
        self._changed.add(kind)
        self._times[asked].append(now)
        counted = self._frames.get(ends.connection)
        if counted is None:
            counted = self._frames[ends.connection] = [ends, 0]
        counted[1] += 1
        if not asked:
            kind.times.append(((header.request or header).time, now))
        for path, code in codes:
            self.tally.add_error((kind.codec.spec.api_name, path, code), f"frame {self._number} at {offset}")

    def _codes_of(self, kind: _Kind, body: bytes) -> tuple[tuple[str, int], ...] | None:
        """Return the error codes of a response; None if the body must be decoded with its faults."""
        message = decode_clean(kind.codec, body)
        if message is None:
            return None
        return () if kind.is_request else error_codes(kind.codec, message)


class _Kind(Kind):
    """Counts of a kind: how many frames, their bytes, and of responses the times of each and of its request."""

    __slots__ = ("count", "size", "times")

    def __init__(self, call: Call, is_request: bool, codec: Codec, bodies: Bodies, tagged: bool) -> None:
        super().__init__(call, is_request, codec, bodies, tagged)
        self.count = self.size = 0
        self.times: list[tuple[int | None, int]] = []

    def flush(self, tally: Tally) -> None:
        """Add the counts to a tally, and begin anew."""
        name = self.codec.spec.api_name
        tally.add_frames("request" if self.is_request else "response", self.count, self.size)
        if self.is_request:
            tally.add_requests(name, self.call.client_id, self.codec.version, self.count, self.size)
        else:
            durations = [(now - then) / SECOND for then, now in self.times if then is not None]
            tally.add_responses(name, self.count, self.size, durations)
        self.count = self.size = 0
        self.times.clear()
