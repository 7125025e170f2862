"""A live cluster: its state, and requests to any of its brokers, over connections that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..cluster import ClusterState
from ..codecs.message_codec import codec_in
from ..errors import CallError
from .address import Address
from .connection import BrokerConnection
from .deadline import Deadline
from .read_cluster import ask_cluster
from .security import PLAINTEXT, Security


class LiveCluster:
    """A live cluster, found through one of its brokers; connects to a broker with the first request to it.

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
        connection = self._connect(self.address, self._deadline)
        with connection.within(self._deadline):
            self._known = ask_cluster(connection)
        return self._known

    def ask(self, name: str, members: Mapping[str, Any], node_id: int | None = None) -> Any:
        """Send a request in the newest version that both sides support, and return the response message.

        Args:
            name: the request, such as `AlterPartitionReassignmentsRequest`.
            members: the fields, in Kafka's JSON; fields that the version lacks are left out.
            node_id: the broker to ask; by default the controller.

        Raises:
            CallError: no response arrived, or the broker does not support the request.
        """
        deadline = Deadline(self.timeout) if node_id is None else self._deadline
        broker = (self._known.brokers or {}).get(self._known.controller_id if node_id is None else node_id)
        where = self.address if broker is None else Address(broker.host, broker.port)
        connection = self._connect(where, deadline)
        with connection.within(deadline):
            return _ask_known_fields(connection, name, members)

    def _connect(self, address: Address, deadline: Deadline) -> BrokerConnection:
        if address not in self._connections:
            self._connections[address] = BrokerConnection(
                address, timeout=self.timeout, security=self.security, deadline=deadline
            )
        return self._connections[address]


def _ask_known_fields(connection: BrokerConnection, name: str, members: Mapping[str, Any]) -> Any:
    """Send a request with those of the fields that its version has, and return the response message."""
    version = connection.newest(name)
    if version is None:
        raise CallError(str(connection.address), f"it does not answer {name}", "this needs Kafka 2.4 or newer")
    codec = codec_in(connection.catalog, name, version)
    fields = {field.json_name for field in codec.schema.all_fields}
    known = {name: value for name, value in members.items() if name in fields}
    answer = connection.ask(codec, codec.from_json(known, defaults=True))
    assert answer is not None
    return answer.message
