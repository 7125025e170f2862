"""The base of the model clients. Each is a generator that reads from top to bottom: it yields requests or seconds to
sleep, and goes on with the responses."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from ... import messages
from ...codecs.message_codec import Codec, codec_in
from ...protocol import encode_request
from ...protocol.headers.header_versions import header_version_for
from ...schema.catalog import catalog_for
from ...values import ErrorCode
from .client import Action, Close, Send, Wake
from .history import HistoryEvent
from .schedule import BROKERS, TOPIC

REQUEST_TIMEOUT = 2.0  # seconds
RETRY_BACKOFF = 0.15
GROUP, TRANSACTION = 0, 1  # the types of coordinators


class Ask(NamedTuple):
    """A request to a broker, and for how many seconds to wait for the response."""

    broker: int
    request: Any
    version: int
    timeout: float = REQUEST_TIMEOUT


class _InFlight(NamedTuple):
    number: int  # among the requests that were sent at once
    broker: int
    codec: Codec
    header_size: int


@cache
def _codec_for(name: str, version: int) -> tuple[Codec, int]:
    """Return the codec of a response, and the size of what precedes its body: size, correlation id, and in flexible
    versions an empty list of tagged fields."""
    codec = codec_in(catalog_for(), name, version)
    return codec, 9 if header_version_for(codec.spec, version) else 8


Step = list[Ask] | float  # requests to send at once, or seconds to sleep
Responses = Sequence[Any]  # None for a request without response
Steps = Generator[Step, Responses, Any]


class ModelClient:
    """A client that behaves as real ones do. A subclass writes `run`.

    Args:
        name: its name, which is its client id.
        rng: its random choices.
        until: when it begins no new work, in seconds.
    """

    has_late_requests = True  # whether its requests may arrive after it has closed their connection

    def __init__(self, name: str, rng: Random, until: float) -> None:
        self.name = name
        self.rng = rng
        self.until = until
        self.now: float = 0.0
        self.is_leaving = False  # set by the simulation: leave properly
        self.is_over: bool = False
        self.closed_brokers: set[int] = set()  # since the client looked last
        self.leaders: dict[int, tuple[int, int]] = {}  # leader and epoch by partition
        self.topic_id: bytes = bytes(16)
        self._coordinators: dict[tuple[int, str], int] = {}
        self._steps: Steps = self.run()
        self._in_flight: dict[int, _InFlight] = {}
        self._responses: Any = None  # a generator begins with None
        self._wakes: float = 0.0
        self._correlation_id = 0
        self._actions: list[Action] = []

    def run(self) -> Steps:
        """Do the work of the client."""
        raise NotImplementedError

    def unfinished(self) -> str:
        """Return what is not finished, at the end of the simulation; empty if all is."""
        return ""

    # The interface to the simulation (`Client`)

    def step(self, now: float) -> Iterable[Action]:
        """Go on after a sleep, or give up waiting for responses."""
        self.now = now
        if self.is_over or now < self._wakes:
            return ()
        for broker in sorted({request.broker for request in self._in_flight.values()}):
            self._actions.append(Close(broker))
            self.closed_brokers.add(broker)
        self._in_flight.clear()
        return self._resume()

    def receive(self, broker: int, data: bytes, now: float) -> Iterable[Action]:
        """Take a response."""
        self.now = now
        correlation_id = int.from_bytes(data[4:8], "big")
        waiting = self._in_flight.pop(correlation_id, None)
        if waiting is None:
            return ()
        self._responses[waiting.number] = waiting.codec.decode(data[waiting.header_size :])
        return () if self._in_flight else self._resume()

    def closed(self, broker: int, now: float) -> Iterable[Action]:
        """Give up waiting for responses of this broker."""
        self.now = now
        self.closed_brokers.add(broker)
        lost = [key for key, request in self._in_flight.items() if request.broker == broker]
        for key in lost:
            del self._in_flight[key]
        return self._resume() if lost and not self._in_flight else ()

    def _resume(self) -> Iterable[Action]:
        step: Step = 0.0
        try:
            step = self._steps.send(self._responses)
        except StopIteration:
            self.is_over = True
        if isinstance(step, float):
            self._responses = []
            self._wakes = self.now + step
        else:
            self._send(step)
        actions = self._actions
        self._actions = []
        return actions if self.is_over else [*actions, Wake(self._wakes)]

    def _send(self, asks: Sequence[Ask]) -> None:
        self._responses = [None] * len(asks)
        self._wakes = self.now + (max(ask.timeout for ask in asks) if asks else RETRY_BACKOFF)
        for index, ask in enumerate(asks):
            self._correlation_id += 1
            api = type(ask.request).__name__.removesuffix("Request")
            self._in_flight[self._correlation_id] = _InFlight(
                index, ask.broker, *_codec_for(f"{api}Response", ask.version)
            )
            data = encode_request(ask.request, ask.version, correlation_id=self._correlation_id, client_id=self.name)
            self._actions.append(Send(ask.broker, data))

    # What clients have in common

    def record(self, event: HistoryEvent) -> None:
        """Add an event to the history."""
        self._actions.append(event)

    def ask(self, broker: int, request: Any, version: int, timeout: float = REQUEST_TIMEOUT) -> Steps:
        """Send one request; returns the response, or None if there is none in time."""
        (response,) = yield [Ask(broker, request, version, timeout)]
        return response

    def find_leaders(self) -> Steps:
        """Refresh the leaders of the topic from any broker."""
        topic = messages.MetadataRequest.MetadataRequestTopic(name=TOPIC)
        response = yield from self.ask(self.rng.choice(BROKERS), messages.MetadataRequest(topics=(topic,)), 12)
        if response is None or response.topics[0].error_code:
            yield RETRY_BACKOFF
            return
        self.topic_id = response.topics[0].topic_id
        self.leaders = {
            row.partition_index: (row.leader_id, row.leader_epoch)
            for row in response.topics[0].partitions
            if row.leader_id >= 0
        }
        if len(self.leaders) < len(response.topics[0].partitions):
            yield RETRY_BACKOFF

    def ask_coordinator(
        self, key: str, request: Any, version: int, kind: int = GROUP, timeout: float = REQUEST_TIMEOUT
    ) -> Steps:
        """Send a request to the coordinator of a group or transactional id, which is looked up if it is unknown.

        Returns the response, or None if there is none in time; the coordinator is then looked up again.
        """
        broker = self._coordinators.get((kind, key))
        if broker is None:
            find = messages.FindCoordinatorRequest(key_type=kind, coordinator_keys=(key,))
            response = yield from self.ask(self.rng.choice(BROKERS), find, 4)
            if response is None or response.coordinators[0].error_code:
                yield RETRY_BACKOFF
                return None
            broker = self._coordinators[kind, key] = response.coordinators[0].node_id
        response = yield from self.ask(broker, request, version, timeout)
        if response is None or _codes_of(response) & LOST_COORDINATOR:
            self._coordinators.pop((kind, key), None)
            yield RETRY_BACKOFF
        return response


LOST_COORDINATOR = frozenset(
    (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)


def _codes_of(response: Any) -> set[int]:
    """Return the error codes of a response of a coordinator."""
    return set(_each_code(response))


def _each_code(row: Any) -> Iterator[int]:
    yield getattr(row, "error_code", 0)
    yield getattr(row, "partition_error_code", 0)
    for name in ("groups", "topics", "partitions", "results_by_topic_v3_and_below", "results_by_partition"):
        for nested in getattr(row, name, None) or ():
            yield from _each_code(nested)


def first_code(response: Any) -> int:
    """Return the first error code in a response of a coordinator; 0 if there is none.

    >>> first_code(messages.HeartbeatResponse(error_code=27))
    27
    """
    return next((code for code in _each_code(response) if code), 0)
