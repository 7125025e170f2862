"""Plays a recording against fresh brokers, request by request, and compares the answers with the recorded ones."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ...broker import Parked
from ...broker.fault_rules import OBSERVE, Treatment
from ...broker.request_context import RequestContext
from ...broker.request_frames import ServedRequest, Unserved, read_request, write_response
from ...broker.request_parts import api_of
from ...broker.security.sasl_session import SaslSession
from ...broker.server.control import Control
from ...broker.server.control_json import read_bytes
from ...broker.server.operation_journal import PerformedOperation
from ...codecs.message_codec import codec
from ...errors import KwireError
from ...protocol import Frame, Response, decode_response
from ...protocol.frames.frame_size import get_int16, get_int32
from ...protocol.sasl.scram_credentials import Users
from ...render.differences.value_differences import value_lines
from ...values import ErrorCode
from .recording import Recording
from .replay_server import ReplayServer

SHORTEST = 12  # bytes of a request: size, api key, version, correlation id
GRACE = 0.5  # seconds that an answer may come later than it was recorded: times have milliseconds
LOGIN = ("SaslHandshake", "SaslAuthenticate")


@dataclass(eq=False, slots=True)
class PlayedRequest:
    """A request of a recording.

    Attributes:
        number: its place among the requests, from 1.
        api, version, client_id, broker: what was asked by whom of which broker.
        correlation_id: its correlation id.
        is_open: whether an answer may be compared: no rule of the test cuts or drops it.
        parked: the answer that is not ready yet.
        answer: the bytes of the answer; empty if there is none.
        recorded: the bytes of the recorded answer; None if none was recorded.
        write: returns the bytes of the answer that was parked.
    """

    number: int
    broker: int
    correlation_id: int
    api: str = ""
    version: int = 0
    client_id: str = ""
    is_open: bool = True
    parked: Parked[Any] | None = None
    answer: bytes = b""
    recorded: bytes | None = None
    write: Any = None

    def __str__(self) -> str:
        client = f" of {self.client_id!r}" if self.client_id else ""
        return f"request {self.number}: {self.api} v{self.version}{client} to broker {self.broker}"

    def finish(self) -> None:
        """Take the answer, once it is ready."""
        if self.parked is not None and self.parked.is_answered:
            self.answer = self.write(self.parked)
            self.parked = None

    def differences(self) -> list[str]:
        """Return how the answer differs from the recorded one, a line for each field; none if it does not."""
        if not self.is_open or self.recorded is None or self.recorded == self.answer:
            return []
        if self.parked is not None:
            return ["it was answered, and waits in the replay"]
        if not self.answer:
            return ["it was answered, and gets no answer in the replay"]
        try:
            layout = codec(f"{self.api}Response", self.version)
            before, after = (decode_response(data, layout) for data in (self.recorded, self.answer))
        except KwireError:
            return [f"{len(self.recorded)} bytes were recorded, and {len(self.answer)} other bytes are replayed"]
        if isinstance(before, Response) and isinstance(after, Response):
            return value_lines(before.message, after.message) or ["the bytes differ, and no field does"]
        return ["the answers cannot be decoded, and their bytes differ"]


@dataclass(slots=True)
class ReplayResult:
    """The result of a replay: all requests, and remarks on what could not be played."""

    requests: list[PlayedRequest] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def different(self) -> list[PlayedRequest]:
        """The requests whose answers differ from the recorded ones."""
        return [request for request in self.requests if request.differences()]


def replay(recording: Recording) -> ReplayResult:
    """Play a recording against fresh brokers in memory, in the recorded order and time.

    Args:
        recording: the recording.

    Raises:
        DumpError: its frames are damaged.

    >>> import tempfile
    >>> from kwire.testing import Kafka
    >>> with tempfile.TemporaryDirectory() as folder, Kafka(topics=["orders"]) as kafka:
    ...     kafka.save_recording(f"{folder}/orders.zip")
    ...     result = replay(Recording.read(f"{folder}/orders.zip"))
    >>> result.requests, result.remarks
    ([], [])
    """
    return _Player(recording).play()


class _Player:
    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._frames = list(recording.frames())
        times = [frame.source.time for frame in self._frames if frame.source.time is not None]
        times += [operation.time for operation in recording.operations]
        self._server = ReplayServer(recording, min(times, default=0.0))
        self._control = Control(self._server, ())
        self._result = ReplayResult()
        self._brokers = {port: node_id for node_id, port in recording.ports.items()}
        self._sessions: dict[Hashable, SaslSession] = {}
        self._unanswered: dict[Hashable, deque[PlayedRequest]] = {}
        self._waiting: list[PlayedRequest] = []
        self._end = max(times, default=0.0)

    def play(self) -> ReplayResult:
        self._remark()
        operations = deque(self._recording.operations)
        for number, frame in enumerate(self._frames, self._recording.missing):
            while operations and operations[0].position <= number:
                self._perform(operations.popleft())
            self._play(frame)
        for operation in operations:
            self._perform(operation)
        self._server.move_to(self._end + GRACE)
        self._finish()
        return self._result

    def _remark(self) -> None:
        recording, remarks = self._recording, self._result.remarks
        if recording.missing:
            remarks.append(f"the first {recording.missing} frames were not kept: answers that depend on them differ")
        if recording.left_out:
            remarks.append(f"not in the file, and not in force: {', '.join(recording.left_out)}")
        if recording.is_redacted:
            remarks.append("secrets are removed: logins are not played")

    def _perform(self, operation: PerformedOperation) -> None:
        self._server.move_to(operation.time)
        self._server.members = frozenset(operation.members)
        arguments = read_bytes(operation.name, operation.arguments)
        if arguments.get("action") == "function":
            api = arguments.get("api") or "all apis"
            self._result.remarks.append(f"a rule for {api} has a function, and is not applied")
            arguments["action"] = OBSERVE
        try:
            done = self._control.begin(operation.name, arguments)
            if inspect.isawaitable(done):
                asyncio.run(_wait(done))
        except Exception as error:  # as it may have been for the test
            self._result.remarks.append(f"{operation.name} is refused: {error}")
        self._finish()

    def _play(self, frame: Frame) -> None:
        if frame.source.time is not None:
            self._server.move_to(frame.source.time)
        self._finish()
        if frame.source.direction == "request":
            self._ask(frame)
        else:
            self._compare(frame)

    def _compare(self, frame: Frame) -> None:
        """Note the recorded answer of the oldest request of its connection with its correlation id."""
        waiting = self._unanswered.get(frame.source.connection_key, deque())
        correlation_id = get_int32(frame.data, 4) if len(frame.data) >= 8 else -1
        for request in list(waiting):
            if request.correlation_id == correlation_id:
                request.recorded = frame.data
                waiting.remove(request)
                break

    def _ask(self, frame: Frame) -> None:
        broker = self._brokers.get(int((frame.source.broker or ":0").rpartition(":")[2]), -1)
        if broker < 0 or len(frame.data) < SHORTEST:
            return  # a bare SASL token, or a frame of another server
        cluster = self._server.cluster
        read = read_request(frame, cluster.catalog, cluster.apis)
        played = PlayedRequest(len(self._result.requests) + 1, broker, get_int32(frame.data, 8))
        if isinstance(read, Unserved):
            played.answer = read.answer
            played.api, played.version = f"api {get_int16(frame.data, 4)}", get_int16(frame.data, 6)
        else:
            played.api, played.version, played.client_id = api_of(read.message), read.version, read.client_id
            if played.api in LOGIN:
                return
            self._handle(played, read, frame)
        self._result.requests.append(played)
        self._unanswered.setdefault(frame.source.connection_key, deque()).append(played)

    def _handle(self, played: PlayedRequest, request: ServedRequest, frame: Frame) -> None:
        cluster, key = self._server.cluster, frame.source.connection_key
        session = self._sessions.setdefault(key, SaslSession(Users({}), (), Random(0)))
        host = (frame.source.client or "").rpartition(":")[0].strip("[]")
        client = request.client_id, host, session.principal, session
        context = RequestContext(cluster, played.broker, request.message, request.version, self._server.now(), *client)
        if cluster.chaos is not None:
            context = cluster.chaos.disturb(context)
        treatment = cluster.rules.treat(context)
        played.is_open = not (treatment.is_hanging or treatment.drop or treatment.cut)
        if treatment.is_hanging or (treatment.drop and not treatment.drop.is_handled):
            return
        response = self._answer(context, treatment)

        def write(ready: Any) -> bytes:
            return self._write(context, request, treatment, ready)

        if isinstance(response, Parked) and not response.is_answered:
            played.parked, played.write = response, write
            self._waiting.append(played)
        elif response is not None:
            played.answer = write(response)
        self._finish()

    def _answer(self, context: RequestContext[Any], treatment: Treatment) -> Any:
        if treatment.respond is not None:
            return treatment.respond.answer
        try:
            return self._server.cluster.handle(context)
        except Exception:  # the server's answer to an error in a handler
            return context.failed(ErrorCode.UNKNOWN_SERVER_ERROR)
        finally:
            self._server.settle()

    def _write(
        self, context: RequestContext[Any], request: ServedRequest, treatment: Treatment, response: Any
    ) -> bytes:
        try:
            ready = response.response if isinstance(response, Parked) else response
            if treatment.change is not None:
                ready = treatment.change.answer(request.message, ready)
            return write_response(request, ready, self._server.cluster.catalog)
        except Exception:  # the server's answer to an error in a handler
            failed = context.failed(ErrorCode.UNKNOWN_SERVER_ERROR)
            return write_response(request, failed, self._server.cluster.catalog)

    def _finish(self) -> None:
        for request in self._waiting:
            request.finish()
        self._waiting = [request for request in self._waiting if request.parked is not None]


async def _wait(awaitable: Any) -> Any:
    return await awaitable
