"""A live cluster: its state, and requests to any of its brokers, over connections that are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..cluster import ClusterState
from ..codecs.message_codec import codec_in
from ..errors import CallError
from .address import Address
from .cluster_client import RequestRefused
from .connection import BrokerConnection
from .deadline import Deadline
from .read_cluster import ask_cluster
from .security import PLAINTEXT, Security


class LiveCluster:
    """A live cluster, found through one of its brokers; connects to a broker with the first request to it.

    If that broker stops later, another one is asked.

    Args:
        address: the address of any broker.
        timeout: seconds for a reading of the state, with the requests that follow to brokers by id, because the cluster
            says how many brokers there are; and for each request to the controller.
        security: TLS and SASL; by default neither.
    """

    def __init__(self, address: Address, timeout: float = 10.0, security: Security = PLAINTEXT) -> None:
        self.address: Address = address
        self.timeout: float = timeout
        self.security: Security = security
        self._connections: dict[Address, BrokerConnection] = {}
        self._known = ClusterState()
        self._deadline = Deadline(timeout)  # of the reading of `_known`

    def __enter__(self) -> LiveCluster:
        return self

    def __exit__(self, *failure: object) -> None:
        for connection in self._connections.values():
            connection.close()

    def state(self) -> ClusterState:
        """Return the current brokers and partitions.

        Raises:
            CallError, DecodeError: see `ask_cluster`.
        """
        self._deadline = Deadline(self.timeout)
        refusal: CallError | None = None
        for address in self._addresses():
            try:
                with self._connect(address, self._deadline) as connection:
                    self._known = ask_cluster(connection)
                return self._known
            except CallError as error:
                refusal = refusal or error
        assert refusal is not None
        raise refusal

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        """Send a request in the newest version that both sides support, and return the response message.

        Args:
            name: the request, such as `AlterPartitionReassignmentsRequest`.
            members: the fields, in Kafka's JSON; fields that the version lacks are left out.
            node_id: the broker to ask; by default the controller.

        If the controller does not respond, the request is sent once more, to the controller that the cluster names
        then.

        Raises:
            CallError: no response arrived, or the broker does not support the request.
        """
        if node_id is not None:
            return self._ask(name, members, node_id, self._deadline)
        try:
            return self._ask(name, members, self._known.controller_id, Deadline(self.timeout))
        except RequestRefused:
            raise
        except CallError:
            self.state()
            return self._ask(name, members, self._known.controller_id, Deadline(self.timeout))

    def _ask(self, name: str, members: Mapping[str, Any], node_id: int, deadline: Deadline) -> Any:
        broker = (self._known.brokers or {}).get(node_id)
        address = self.address if broker is None else Address(broker.host, broker.port)
        with self._connect(address, deadline) as connection:
            return _ask_known_fields(connection, name, members)

    def _addresses(self) -> Iterator[Address]:
        """Yield the given address, and those of the other brokers that were live when the state was last read."""
        yield self.address
        for broker in (self._known.brokers or {}).values():
            address = Address(broker.host, broker.port)
            if not broker.fenced and address != self.address:
                yield address

    @contextmanager
    def _connect(self, address: Address, deadline: Deadline) -> Iterator[BrokerConnection]:
        """Give the connection to a broker, whose requests end at a deadline; after a failure it is not used again."""
        connection = self._connections.pop(address, None)
        if connection is None:
            connection = BrokerConnection(address, timeout=self.timeout, security=self.security, deadline=deadline)
        with connection.within(deadline):
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
        self._connections[address] = connection


def _ask_known_fields(connection: BrokerConnection, name: str, members: Mapping[str, Any]) -> Any:
    """Send a request with those of the fields that its version has, and return the response message."""
    version = connection.newest(name)
    if version is None:
        raise RequestRefused(str(connection.address), f"it does not answer {name}", "this needs Kafka 2.4 or newer")
    codec = codec_in(connection.catalog, name, version)
    fields = {field.json_name for field in codec.tree.all_fields}
    known = {name: value for name, value in members.items() if name in fields}
    answer = connection.ask(codec, codec.from_json(known, defaults=True))
    assert answer is not None
    return answer.message
