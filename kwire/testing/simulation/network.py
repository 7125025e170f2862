"""The simulated network between clients and brokers: connections with delays, losses and late arrivals.

As in TCP, a connection delivers in order, or ends. What a client sent before it closed a connection can still arrive:
such late requests are why producers have sequence numbers and epochs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random

from ...broker.purgatory import Parked
from ...broker.security.sasl_session import SaslSession
from ...protocol.sasl.scram_credentials import Users
from .clock import Clock
from .cluster import HandledRequest, SimulatedCluster

USUAL_DELAY = (0.001, 0.02)  # seconds in each direction
LATE = (2.5, 6.0)  # seconds that a late request takes: longer than a client waits


class SimulatedConnection:
    """A connection of a client to a broker.

    Attributes:
        is_open: whether the client has it open.
        is_served: whether the broker has it open.
        requests: the received requests that wait for their turn; a broker answers them in order.
        waiting: the request whose response is parked; None if there is none.
        is_broken: whether all further requests are lost.
        is_losing: whether the next response is lost, and the connection with it.
    """

    def __init__(self, client: str, broker: int) -> None:
        self.client: str = client
        self.broker: int = broker
        self.is_open = self.is_served = True
        self.requests: deque[bytes] = deque()
        self.waiting: HandledRequest | None = None  # its response is parked
        self.is_broken = self.is_losing = False
        self.reaches_broker: float = 0.0  # when the latest data of each direction arrives
        self.reaches_client: float = 0.0
        self.session: SaslSession = SaslSession(Users({}), (), Random(0))


class SimulatedNetwork:
    """All connections.

    Args:
        clock: the clock.
        cluster: the brokers.
        seed: the seed of all delays and losses; each client has its own sequence of them, so that a history without
            some client is like the one with it.
        receive: called with a connection and the data that reaches its client.
        closed: called with the client's name and the broker.
        raised: called with the client's name, the request, and the exception of a broker.
    """

    def __init__(
        self,
        clock: Clock,
        cluster: SimulatedCluster,
        seed: int,
        receive: Callable[[SimulatedConnection, bytes], None],
        closed: Callable[[str, int], None],
        raised: Callable[[str, str, Exception], None],
    ) -> None:
        self._clock = clock
        self._cluster = cluster
        self._seed = seed
        self._receive = receive
        self._closed = closed
        self._raised = raised
        self._rngs: dict[str, Random] = {}
        self._current: dict[tuple[str, int], SimulatedConnection] = {}
        self._served: dict[SimulatedConnection, None] = {}
        self.loss: float = 0.0  # the probability that a request or its response is lost or late
        self.delay: float = 0.0  # additional seconds at most
        self.unreachable: dict[int, int] = {}  # how many faults cut each broker off from the clients
        self.last_arrival: float = 0.0  # of late requests
        self.without_late_requests: set[str] = set()  # clients whose requests end with their connection

    def _rng(self, client: str) -> Random:
        rng = self._rngs.get(client)
        if rng is None:
            rng = self._rngs[client] = Random(f"{self._seed} network {client}")
        return rng

    def _draw_arrival(self, client: str) -> float:
        rng = self._rng(client)
        return self._clock.now + rng.uniform(*USUAL_DELAY) + rng.random() * self.delay

    def send(self, client: str, broker: int, data: bytes) -> None:
        """Send a request; opens a connection if none is open."""
        connection = self._current.get((client, broker))
        if connection is None:
            connection = self._current[client, broker] = SimulatedConnection(client, broker)
            self._served[connection] = None
        if connection.is_broken or self.unreachable.get(broker):
            return  # the client waits, until it learns that the connection has ended, or in vain
        arrives = self._draw_arrival(client)
        rng = self._rng(client)
        if self.loss and rng.random() < self.loss:
            what = rng.choice(("request", "response", "late"))
            if what == "request":
                connection.is_broken = True
                self._end(connection)
                return
            if what == "response":
                connection.is_losing = True
            else:
                arrives = self._clock.now + rng.uniform(*LATE)
                self.last_arrival = max(self.last_arrival, arrives)
        connection.reaches_broker = arrives = max(arrives, connection.reaches_broker)
        self._clock.call_at(arrives, lambda: self._arrive(connection, data))

    def close(self, client: str, broker: int) -> None:
        """Close a client's connection; the broker learns it after what was sent before."""
        connection = self._current.pop((client, broker), None)
        if connection is None:
            return
        connection.is_open = False
        if client in self.without_late_requests:
            self._end_service(connection)
            return
        at = max(self._draw_arrival(client), connection.reaches_broker)
        self._clock.call_at(at, lambda: self._end_service(connection))

    def reset(self, broker: int | None = None, *, silently: bool = False) -> None:
        """End the connections to a broker (None: to all); if `silently`, clients do not learn it."""
        chosen = [connection for connection in self._served if broker in (None, connection.broker)]
        for connection in chosen:
            self._end_service(connection)
            if not silently:
                self._end(connection)

    def answer_parked(self) -> None:
        """Send the responses of parked requests that are completed by now."""
        answered = self._cluster.served.waiting.answered
        if not answered:
            return
        answered.clear()
        for connection in list(self._served):
            handled = connection.waiting
            if handled is not None and handled.response.is_answered:
                connection.waiting = None
                self._respond(connection, handled)
                self._serve(connection)

    def _end(self, connection: SimulatedConnection) -> None:
        """End a connection: both sides learn it a little later."""
        at = self._draw_arrival(connection.client)
        self._clock.call_at(at, lambda: self._end_service(connection))
        self._clock.call_at(max(at, connection.reaches_client), lambda: self._close_client_side(connection))

    def _close_client_side(self, connection: SimulatedConnection) -> None:
        if connection.is_open:
            connection.is_open = False
            self._current.pop((connection.client, connection.broker), None)
            self._closed(connection.client, connection.broker)

    def _end_service(self, connection: SimulatedConnection) -> None:
        if not connection.is_served:
            return
        connection.is_served = False
        self._served.pop(connection, None)
        if connection.waiting is not None:
            self._cluster.served.waiting.forget(connection.waiting.response)
        self._cluster.served.shares.disconnected(connection.session)

    def _arrive(self, connection: SimulatedConnection, data: bytes) -> None:
        if not connection.is_served or not self._cluster.is_alive(connection.broker):
            self._end(connection)
            return
        connection.requests.append(data)
        self._serve(connection)

    def _serve(self, connection: SimulatedConnection) -> None:
        """Handle the received requests of a connection, until one is parked."""
        while connection.is_served and connection.requests and connection.waiting is None:
            data = connection.requests.popleft()
            try:
                handled = self._cluster.handle(connection.broker, data, connection.session)
            except Exception as error:  # what a broker raises is what this looks for
                self._raised(connection.client, data.hex(), error)
                handled = None
            if handled is None:
                self._end(connection)
                return
            response = handled.response
            connection.is_losing |= handled.treatment.drop is not None
            if isinstance(response, Parked) and not response.is_answered:
                connection.waiting = handled
            elif response is not None:
                self._respond(connection, handled)

    def _respond(self, connection: SimulatedConnection, handled: HandledRequest) -> None:
        """Create and send a response; exceptions are those of the broker."""
        response = handled.response
        try:
            data = self._cluster.encode(handled, response.response if isinstance(response, Parked) else response)
        except Exception as error:  # what a broker raises is what this looks for
            self._raised(connection.client, repr(handled.request.message), error)
            self._end(connection)
            return
        if connection.is_losing or self.unreachable.get(connection.broker):
            if connection.is_losing:
                self._end(connection)
            return
        connection.reaches_client = at = max(self._draw_arrival(connection.client), connection.reaches_client)
        self._clock.call_at(at, lambda: self._deliver(connection, data))

    def _deliver(self, connection: SimulatedConnection, data: bytes) -> None:
        if connection.is_open:
            self._receive(connection, data)
