"""Counts the frames of a dump in one pass: apis, versions, clients, times, errors, and what did not decode.

Memory depends on how many different things there are, and that is bounded; not on how many frames.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from typing import NamedTuple

from ..frames import Request, Response, Result, Token, Undecodable
from ..frames.pairing import expects_response
from ..frames.pieces import loses
from ..render.values import count_text
from .codes import ErrorCodes
from .measures import BoundedCounter, Durations, Timeline

KEYS = 10_000  # different (api, client, version); as many errors
WAITING = 65_536  # requests whose time is remembered until their response comes
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
        self.durations = Durations()


class Tally:
    """Counts results, one by one.

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

    def __init__(self) -> None:
        self.frames = self.size = self.timed = self.unanswered = self.backwards = 0
        self.kinds: Counter[str] = Counter()
        self.apis: dict[str, Api] = {}
        self.versions: BoundedCounter[tuple[str, str | None, int]] = BoundedCounter(KEYS)
        self.errors: BoundedCounter[tuple[str, str, int]] = BoundedCounter(KEYS)
        self.connections: BoundedCounter[tuple[str | None, str | None]] = BoundedCounter(WAITING)
        self.first_errors: dict[tuple[str, str, int], str] = {}
        self.timeline = Timeline()
        self.remarks: list[str] = []
        self.samples: list[Sample] = []
        self.problems: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self._codes = ErrorCodes()
        self._waiting: OrderedDict[tuple[object, ...], deque[float]] = OrderedDict()

    def add(self, result: Result) -> None:
        """Count one frame, or another piece. Frames of a connection come in its order."""
        source, size = result.frame.source, len(result.frame.data)
        self.size += size
        self.frames += not loses(result.frame.fault)
        if isinstance(result, Undecodable) and not result.is_failure:
            self.unread[result.error.code] += 1
            return
        kind = _kind(result)
        self.kinds[kind] += 1
        if source.client is not None or source.broker is not None:
            self.connections.add((source.client, source.broker))
        if source.time is not None:
            self.timed += 1
            self.timeline.add(source.time, kind)
        if isinstance(result, Undecodable):
            self._undecodable(result)
            return
        if isinstance(result, Token):
            return
        self.faults.update(type(fault).__name__ for fault in result.faults)
        api = self.apis.setdefault(result.api_name, Api())
        if isinstance(result, Request):
            self._request(result, api)
        else:
            self._response(result, api)

    def _request(self, result: Request, api: Api) -> None:
        api.requests += 1
        api.request_bytes += len(result.frame.data)
        client = getattr(result.header, "client_id", None)
        self.versions.add((result.api_name, None if client is None else client[:LONGEST], result.api_version))
        time = result.frame.source.time
        if time is not None and expects_response(result.message):
            self._waiting.setdefault(_key(result, result.correlation_id), deque(maxlen=WAITING)).append(time)
            if len(self._waiting) > WAITING:
                self._waiting.popitem(last=False)

    def _response(self, result: Response, api: Api) -> None:
        api.responses += 1
        api.response_bytes += len(result.frame.data)
        for dropped in result.unanswered:
            self.unanswered += 1
            self._asked_at(_key(result, dropped.correlation_id))
        if result.request is not None:
            self._duration(result, api)
        for path, code in self._codes.of(result.codec, result.message):
            api.errors += 1
            key = (result.api_name, path, code)
            self.errors.add(key)
            if key in self.errors.counts:
                self.first_errors.setdefault(key, place(result))

    def _duration(self, result: Response, api: Api) -> None:
        asked, time = self._asked_at(_key(result, result.correlation_id)), result.frame.source.time
        if asked is None or time is None:
            return
        if time < asked:  # clocks of two captures, or a capture out of order
            self.backwards += 1
        else:
            api.durations.add(time - asked)

    def _asked_at(self, key: tuple[object, ...]) -> float | None:
        """Return when a request was sent, and forget it."""
        times = self._waiting.get(key)
        if times is None:
            return None
        time = times.popleft()
        if not times:
            del self._waiting[key]
        return time

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


def _key(result: Request | Response, correlation_id: int | None) -> tuple[object, ...]:
    return result.frame.source.client, result.frame.source.broker, correlation_id
