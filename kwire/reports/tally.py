"""Counts the frames of a dump in one pass: apis, versions, clients, times, errors, and what did not decode.

Memory depends on how many different things there are, and that is bounded; not on how many frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..frames import Request, Response, Result, Token, Undecodable
from ..frames.pieces import loses
from ..gist import error_codes
from ..render.values import count_text
from .measures import BoundedCounter, Durations, Timeline

KEYS = 10_000  # different (api, client, version); as many errors
CONNECTIONS = 65_536
SAMPLES = 100  # of frames that did not decode
LONGEST = 256  # characters of a client id that make a difference


class Sample(NamedTuple):
    """A frame that did not decode: where it is, how long, what is wrong and of which class the error is."""

    place: str
    size: int
    problem: str
    kind: str


class Api:
    """What is counted of one api."""

    def __init__(self) -> None:
        self.requests = self.responses = self.request_bytes = self.response_bytes = self.errors = 0
        self.durations: Durations = Durations()


class Tally:
    """Counts results, one by one.

    Args:
        seal: takes secrets out of a result before anything of it is kept.

    Attributes:
        frames, size: all whole frames, and the bytes of these and of all other pieces.
        unread: what is incomplete or of another protocol, by the codes of `DecodeError`.
        kinds: how many requests, responses, other messages and undecodable frames.
        apis: by name, an `Api`.
        versions: of (api, client, version), requests.
        errors: of (api, path, code), with the place of the first one in `first_errors`.
        timeline, timed: frames in time, and how many have one.
        samples, problems: the first frames that did not decode, and how many of each class of errors.
        faults: what salvage tolerated, by class.
        remarks: what else is to be known of the input, such as bytes that are missing; whoever reads it adds to them.
        unanswered: requests that were overtaken by later answers.
    """

    def __init__(self, seal: Callable[[Result], Result] = lambda result: result) -> None:
        self._seal = seal
        self.frames: int = 0
        self.size: int = 0
        self.timed: int = 0
        self.unanswered: int = 0
        self.backwards: int = 0
        self.kinds: Counter[str] = Counter()
        self.apis: dict[str, Api] = {}
        self.versions: BoundedCounter[tuple[str, str | None, int]] = BoundedCounter(KEYS)
        self.errors: BoundedCounter[tuple[str, str, int]] = BoundedCounter(KEYS)
        self.connections: BoundedCounter[tuple[str | None, str | None]] = BoundedCounter(CONNECTIONS)
        self.first_errors: dict[tuple[str, str, int], str] = {}
        self.timeline: Timeline = Timeline()
        self.remarks: list[str] = []
        self.samples: list[Sample] = []
        self.problems: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()

    def add(self, result: Result) -> None:
        """Count one frame, or another piece. Frames of a connection come in its order."""
        source, size = result.frame.source, len(result.frame.data)
        if isinstance(result, Undecodable) and not result.is_failure:
            self.size += size
            self.frames += not loses(result.frame.fault)
            self.unread[result.error.code] += 1
            return
        result = self._seal(result)
        kind = _kind(result)
        self.add_frames(kind, 1, size)
        if source.client is not None or source.broker is not None:
            self.connections.add((source.client, source.broker))
        if source.time is not None:
            self.add_times(kind, [source.time])
        if isinstance(result, Undecodable):
            self._undecodable(result)
        elif not isinstance(result, Token):
            self.faults.update(type(fault).__name__ for fault in result.faults)
            if isinstance(result, Request):
                self._request(result)
            else:
                self._response(result)

    def add_frames(self, kind: str, count: int, size: int) -> None:
        """Count frames of a kind, and all their bytes."""
        self.frames += count
        self.size += size
        self.kinds[kind] += count

    def add_times(self, kind: str, times: Sequence[float]) -> None:
        """Note when frames of a kind were seen, in seconds since 1970."""
        self.timed += len(times)
        self.timeline.add(kind, *times)

    def add_requests(self, name: str, client: str | None, version: int, count: int, size: int) -> None:
        """Count requests of an api by a client, and all their bytes."""
        api = self.apis.setdefault(name, Api())
        api.requests += count
        api.request_bytes += size
        self.versions.add((name, None if client is None else client[:LONGEST], version), count)

    def add_responses(self, name: str, count: int, size: int, durations: Sequence[float]) -> None:
        """Count responses of an api, all their bytes, and how many seconds those took of which it is known."""
        api = self.apis.setdefault(name, Api())
        api.responses += count
        api.response_bytes += size
        forwards = [seconds for seconds in durations if seconds >= 0]
        api.durations.add(*forwards)
        self.backwards += len(durations) - len(forwards)  # clocks of two captures, or a capture out of order

    def add_error(self, key: tuple[str, str, int], where: str) -> None:
        """Count an error code: api, path, code; `where` is the place of its frame."""
        self.apis.setdefault(key[0], Api()).errors += 1
        self.errors.add(key)
        if key in self.errors.counts:
            self.first_errors.setdefault(key, where)

    def _request(self, result: Request) -> None:
        client = getattr(result.header, "client_id", None)
        self.add_requests(result.api_name, client, result.api_version, 1, len(result.frame.data))

    def _response(self, result: Response) -> None:
        self.unanswered += len(result.unanswered)
        time = result.frame.source.time
        durations = [] if result.asked_at is None or time is None else [time - result.asked_at]
        self.add_responses(result.api_name, 1, len(result.frame.data), durations)
        for path, code in error_codes(result.codec, result.message):
            self.add_error((result.api_name, path, code), place(result))

    def _undecodable(self, result: Undecodable) -> None:
        kind = type(result.error).__name__
        self.problems[kind] += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(Sample(place(result), len(result.frame.data), str(result.error)[:500], kind))


def place(result: Result) -> str:
    """Say where a frame is: `frame 5 at 580`."""
    source = result.frame.source
    parts = [] if source.frame is None else [f"frame {source.frame}"]
    parts += [] if source.offset is None else [f"at {source.offset}"]
    return " ".join(parts) or count_text(len(result.frame.data), "byte")


def _kind(result: Result) -> str:
    if isinstance(result, Undecodable):
        return "undecodable"
    if isinstance(result, Token):
        return "other"
    return result.codec.spec.type if result.codec.spec.type in ("request", "response") else "other"
