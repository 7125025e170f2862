"""One client's connection to a served broker: frames in, responses out, with the faults that rules ask for.

It handles one request of a connection at a time, and stops reading until the response is sent, so it buffers at most
one request, one portion of the following requests and one response per connection.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import time
from random import SystemRandom
from typing import Any

from msgspec import Struct

from ... import messages
from ...errors import BadFrame, KwireError
from ...protocol import Frame
from ...protocol.frames.frame_joiner import FrameJoiner
from ...protocol.frames.frame_memory import FrameMemoryShare
from ...protocol.sasl.mechanisms import AuthenticationFailed
from ...runtime import telemetry
from ...runtime.loggers import BROKER
from ...runtime.telemetry import observe
from ...values import ErrorCode
from .. import Node, Parked
from ..api import ClosesConnection
from ..fault_rules import FaultRule, FunctionFailed, Treatment
from ..request_context import RequestContext
from ..request_frames import ServedRequest, read_request, write_response
from ..request_parts import api_of
from ..security.principals import principal_of
from ..security.sasl_session import SaslSession
from .response_sender import ResponseSender
from .server_state import PORTION, ServerState

TLS_HANDSHAKE = b"\x16\x03"  # what a client begins with
MOST_UNAUTHENTICATED = 512 << 10  # bytes of a request before (sasl.server.max.receive.size)
MOST_AT_ONCE = 16  # requests of a connection that are handled in one turn
SIZE = 4
SECRETIVE = frozenset(("SaslHandshake", "SaslAuthenticate", "AlterUserScramCredentials"))  # and what follows them
CHANCE = SystemRandom()  # one for all: it takes 2.5 kB
MOST_MEMBERS = 100  # of groups, on one connection


async def _make_response(rule: FaultRule, *values: Any) -> Any:
    """Return a rule's response: a message, or the result of a function or coroutine function of the values."""
    try:
        made = rule.answer(*values) if callable(rule.answer) else rule.answer
        return await made if inspect.isawaitable(made) else made
    except Exception as error:
        raise FunctionFailed(rule.failure(error)) from error


class ServedConnection(ResponseSender):
    """One client's connection. Received requests are handled at once; only if one of them has to wait, a task goes on.

    A task for each request took a tenth of the processor time of a small one; an idle connection has none.
    An idle connection takes half the memory of asyncio's streams with a waiting task (3 kB; measured by
    benchmarks/broker/idle_connections.py). The socket reads a large frame in place, without a task for each portion: a
    third of the system calls, and a tenth less processor time for batches of 1 MB.
    """

    __slots__ = ("_ended", "_is_filling", "_portions", "frames", "share")

    def __init__(self, serving: ServerState, node: Node) -> None:
        super().__init__(serving, node)
        self.frames: FrameJoiner = FrameJoiner(serving.cluster.settings.max_request_bytes)
        self.share: FrameMemoryShare = serving.memory.share()
        self.client_id: str = ""
        self.waits_since: float | None = time.monotonic()
        self.member_ids: tuple[str, ...] = ()
        self._portions: list[bytes] | None = None  # that came and were not looked at
        self._is_filling = False  # whether the socket reads into the memory of an incomplete frame
        self._ended: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start waiting for requests."""
        assert isinstance(transport, asyncio.Transport)
        self.transport: asyncio.Transport = transport
        self.number: int = self.serving.add(self)
        self.host: str = sys.intern(str((transport.get_extra_info("peername") or ("",))[0]))
        BROKER.debug("broker %d: connection %d of %s opened", self.node.node_id, self.number, self.host)
        if self.serving.has_too_many(self):  # Kafka: ConnectionQuotas.inc
            BROKER.warning("broker %d: %s has too many connections; closed", self.node.node_id, self.host)
            transport.abort()
        settings, users = self.serving.cluster.settings, self.serving.cluster.controller.users
        principal = principal_of(transport.get_extra_info("peercert"))
        self.session: SaslSession = SaslSession(users, settings.sasl_mechanisms, CHANCE, settings.max_reauth, principal)
        if not self.session.is_authenticated:
            self.frames.limit = MOST_UNAUTHENTICATED
        transport.set_write_buffer_limits(PORTION)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return memory for received data: that of an incomplete large frame, or the one that connections share."""
        self._is_filling = False
        if self._portions is None and (room := self.frames.room()) is not None:
            self._is_filling = True
            return room
        return self.serving.portion

    def buffer_updated(self, nbytes: int) -> None:
        """Handle received data. A part of a large frame stays where it is, if there is room for it."""
        data: bytes | None = (
            bytes(self.serving.portion[:nbytes]) if not self._is_filling else self.frames.filled(nbytes)
        )
        if data is None and self.share.hold(self.frames.held):
            self.waits_since = time.monotonic()
        else:
            self._receive(data or b"")

    def _receive(self, data: bytes) -> None:
        """Handle received data; while a request is being handled, buffer it, and pause reading if the buffer is
        large."""
        if self._portions is None:
            self._portions = [data]
            self.waits_since = None
            self.task = self.serving.begin(self._work())
            return
        self._portions.append(data)
        if sum(map(len, self._portions)) >= PORTION:
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        """Keep a half-closed connection open, whose client only waits for responses; TLS has no half-closed
        connections."""
        return self._portions is not None and self.serving.tls is None

    def connection_lost(self, exc: Exception | None) -> None:
        """Release the connection."""
        self.resume_writing()
        if self._ended is not None:
            self._ended.set_result(None)
        self.share.hold(0)
        self.serving.remove(self)
        BROKER.debug("broker %d: connection %d of %s closed", self.node.node_id, self.number, self.host)

    async def _work(self) -> None:
        """Handle requests until none is left, or the connection ends."""
        goes_on = False
        try:
            goes_on = await self._answer_all()
        except (OSError, TimeoutError):
            pass  # the client is gone, or took nothing for too long
        except KwireError as error:
            self.serving.note(f"{self.host}: {error}; closed")
        except FunctionFailed as error:
            self.serving.note(f"{self.host}: {error}; closed")
            cause = error.__cause__
            self.serving.failures.keep(cause if isinstance(cause, Exception) else error)
        except Exception as error:
            self.serving.failures.report(f"{self.host}: a request", error, "closed")
        finally:
            self._flush()
            self.serving.finish(self.task)
            self._portions = self.task = None
            if goes_on:
                self.waits_since = time.monotonic()
            else:
                self.transport.close()

    async def _answer_all(self) -> bool:
        """Handle requests until none is left. Returns False if the connection has ended."""
        while self._portions:
            portions, self._portions = self._portions, []
            self.transport.resume_reading()
            for portion in portions:
                if not self.serving.is_open(self.node) or not await self._take(portion):
                    return False
        return True

    async def _take(self, portion: bytes) -> bool:
        """Handle the requests received completely so far. Returns False if the connection has ended.

        After a large response, and after a number of small ones, the other connections get a turn: while a client
        pipelines requests and reads responses, neither reading nor sending has to wait.
        """
        is_first = True
        try:
            for data in self.frames.feed(portion):
                if not is_first and not 0 < len(self._outgoing) < MOST_AT_ONCE:
                    self._flush()
                    await asyncio.sleep(0)
                is_first = False
                if not await self._answer(data):
                    return False
        except BadFrame as error:
            is_tls = self.frames.rest.startswith(TLS_HANDSHAKE)
            return await self._refuse(b"", "it speaks TLS; kwire serve has no TLS listener" if is_tls else str(error))
        if not self.share.hold(self.frames.held):
            return await self._refuse(b"", "the limit for incomplete requests is reached")
        return True

    async def _answer(self, data: bytes) -> bool:
        """Handle a frame. Returns False if the connection has ended."""
        if self.serving.networks:
            self._flush()
            await self.serving.carry(self.node.node_id)
        if self.serving.recorded.is_on:
            self._record(data, is_request=True)
        if self.session.takes_tokens:
            return await self._take_token(data)
        received = read_request(Frame(data), self.serving.cluster.catalog, self.serving.cluster.apis)
        if not isinstance(received, ServedRequest):
            return await self._refuse(received.answer, received.problem)
        return await self._serve(received) and self.serving.is_open(self.node)

    async def _take_token(self, data: bytes) -> bool:
        """Handle a bare SASL token, as after SaslHandshake v0. Returns False if the connection must be closed."""
        try:
            answer = self.session.authenticate(data[SIZE:], self.serving.now())
        except AuthenticationFailed as error:
            return await self._refuse(b"", str(error))
        await self._send(len(answer).to_bytes(SIZE, "big") + answer)
        return True

    async def _serve(self, received: ServedRequest) -> bool:
        """Handle a request and send the response. Returns False if the connection has ended, for example by a test's
        rule."""
        self.serving.requests += 1
        api = api_of(received.message)
        if api in SECRETIVE:
            self.serving.recorded.has_secrets = True
        now = self.serving.now()
        if problem := self.session.problem(api, now):
            return await self._refuse(b"", problem)
        cluster, self.client_id = self.serving.cluster, received.client_id
        member_id = getattr(received.message, "member_id", "")
        if member_id and member_id not in self.member_ids:
            self.member_ids = (*self.member_ids, member_id)[-MOST_MEMBERS:]
        message, version, client_id = received.message, received.version, received.client_id
        session = self.session
        request = RequestContext(
            cluster, self.node.node_id, message, version, now, client_id, self.host, session.principal, session
        )
        if cluster.chaos is not None:
            request = cluster.chaos.disturb(request)
        if not cluster.rules.active and request.fault is None:
            await self._send(self._write(received, request, await self._handle(request)))
            return not self.session.mechanisms or self._is_let_in()
        self._flush()
        await self._enter_task()
        return await self._treat(received, request, cluster.rules.treat(request)) and self._is_let_in()

    def _is_let_in(self) -> bool:
        """Return whether the connection stays open; after a failed authentication it is closed once the response is
        sent."""
        if self.session.has_failed:
            self.serving.note(f"{self.host}: SASL authentication failed; closed")
            return False
        if self.session.is_authenticated:
            self.frames.limit = self.serving.cluster.settings.max_request_bytes
        return True

    async def _treat(self, received: ServedRequest, request: RequestContext[Any], treatment: Treatment) -> bool:
        """Handle a request as a test's rules require."""
        if treatment.is_hanging:
            self._ended = self.serving.future()
            await self._ended  # until the connection is reset, or the broker stopped
            return False
        if treatment.drop and not treatment.drop.is_handled:
            return False
        data = await self._make_treated(received, request, treatment)
        if treatment.delay:
            await asyncio.sleep(treatment.delay)
        if treatment.drop:
            return False
        if treatment.cut:
            await self._send(data[: treatment.cut.after])
            self._flush()
            self.transport.close()
            return False
        await self._send(data)
        return True

    async def _make_treated(self, received: ServedRequest, request: RequestContext[Any], treatment: Treatment) -> bytes:
        """Return the bytes of a response that rules may make or change; what is wrong with theirs is the test's."""
        response = await _make_response(treatment.respond, received.message) if treatment.respond else None
        is_own = response is None
        if is_own:
            response = await self._handle(request)
        if treatment.change and response is not None:
            is_own, response = False, await _make_response(treatment.change, received.message, response)
        if is_own or response is None:
            return self._write(received, request, response)
        return write_response(received, response, self.serving.cluster.catalog)

    def _write(self, received: ServedRequest, request: RequestContext[Any], response: Struct | None) -> bytes:
        """Return the bytes of the broker's response; empty if the request gets no response."""
        if response is None:
            return b""
        catalog = self.serving.cluster.catalog
        try:
            return write_response(received, response, catalog)
        except Exception as error:
            return write_response(received, self._report_failure(request, error), catalog)

    async def _handle(self, request: RequestContext[Any]) -> Struct | None:
        """Return the response to a request; None if the request gets no response."""
        with observe(
            telemetry.BROKER,
            api_of(request.message),
            api_version=request.version,
            server_address=self.node.host,
            server_port=self.node.port,
            client_id=request.client_id,
        ) as measurement:
            try:
                if isinstance(request.message, (messages.FetchRequest, messages.ShareFetchRequest)):
                    await self._wait_for_room()
                response: Struct | Parked[Struct] | None = self.serving.cluster.handle(request)
                self.serving.settle()
                return await self._wait_for(response) if isinstance(response, Parked) else response
            except (FunctionFailed, ClosesConnection):
                raise  # of a test's rule; or what Kafka does, too
            except Exception as error:
                measurement.fail("UNKNOWN_SERVER_ERROR")
                return self._report_failure(request, error)

    def _report_failure(self, request: RequestContext[Any], error: Exception) -> Struct:
        """Report an error in a handler, and return the response of a broker that failed, as KafkaApis.handleError does.

        Produce with acks=0 gets no response; ConnectionAbortedError then closes the connection, as in Kafka.
        """
        api = api_of(request.message)
        response: Struct | None = request.failed(ErrorCode.UNKNOWN_SERVER_ERROR)
        outcome = "closed" if response is None else "answered UNKNOWN_SERVER_ERROR"
        self.serving.failures.report(
            f"{self.host}: {api} v{request.version}", error, outcome, is_secret=api in SECRETIVE
        )
        if response is None:
            raise ConnectionAbortedError
        return response

    async def _wait_for(self, parked: Parked[Struct]) -> Struct:
        if not parked.is_answered:
            self._flush()
            await self.serving.wait(parked)
            await self._wait_for_room()
        response: Struct = parked.response
        self.serving.settle()
        return response

    async def _wait_for_room(self) -> None:
        if not self.serving.has_room:
            self._flush()
            await self.serving.room()
        self.serving.limit_fetches()

    async def _refuse(self, answer: bytes, problem: str) -> bool:
        if answer:
            await self._send(answer)
            return True
        self.serving.note(f"{self.host}: {problem}; closed")
        return False
