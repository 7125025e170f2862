"""One deadline covers the whole of a request: name look-up, connection, TLS, and each byte of the response."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

import kwire
from kwire.client.address import Address, address
from kwire.client.connection import BrokerConnection
from kwire.client.deadline import Deadline
from kwire.client.live_cluster import LiveCluster
from kwire.client.proxy import Proxy
from kwire.client.read_cluster import ask_cluster
from kwire.client.security import Security
from kwire.errors import CallError
from kwire.testing import HostileBroker, Kafka
from tests.broker.server.serving import serving

METADATA = kwire.codec("MetadataRequest", 1)
ALL = kwire.messages.MetadataRequest(topics=None)


@pytest.fixture
def mute() -> Iterator[Address]:
    """A listener that accepts nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Address(*listener.getsockname())


def clock_of_waits() -> Any:
    """Each look at the clock takes a second."""
    return count().__next__


def test_bytes_that_go_on_arriving_do_not_renew_it() -> None:
    answer = struct.pack(">ii", 10_000, 1) + bytes(9000)  # `serving` sends 7 bytes at a time
    with (
        serving(lambda frame: answer) as where,
        BrokerConnection(address(where)) as broker,
        broker.within(Deadline(3, clock_of_waits())),
        pytest.raises(CallError, match="no answer in time"),
    ):
        broker.ask(METADATA, ALL)


def test_a_look_up_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *host, **more: over.wait(60) or [])
    with pytest.raises(CallError, match="b:9092: cannot connect: no answer in time"):
        BrokerConnection(Address("b", 9092), timeout=0.05)
    over.set()


def test_a_handshake_of_tls_that_hangs(mute: Address) -> None:
    with pytest.raises(CallError, match="no answer in time"):
        BrokerConnection(mute, timeout=0.05, security=Security("SSL"))


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT"])
def test_the_proxys_connection_to_a_broker(protocol: str, mute: Address) -> None:
    user = {"username": "alice", "password": "wonder"} if protocol.startswith("SASL") else {}
    proxy = Proxy(Address("127.0.0.1", 0), mute, show=print, security=Security(protocol, **user), timeout=0.05)
    with pytest.raises(CallError, match="no answer in time"):
        asyncio.run(proxy.start())


def test_a_cluster_is_read_within_one() -> None:
    with HostileBroker("drip:DescribeCluster") as broker:
        where = address(broker.bootstrap_servers)
        with BrokerConnection(where, deadline=Deadline(0.3)) as connection, pytest.raises(CallError, match="in time"):
            ask_cluster(connection)


def test_brokers_that_do_not_answer_leave_the_log_directories_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with HostileBroker("silent:DescribeLogDirs", brokers=3) as broker:
        first = address(broker.bootstrap_servers.split(",")[0])
        with BrokerConnection(first, deadline=Deadline(0.5)) as connection:
            state = ask_cluster(connection)
    assert set(state.brokers or {}) == {1, 2, 3}
    assert state.log_dirs == {}


def test_requests_to_the_controller_have_a_deadline_each_and_those_to_brokers_share_one() -> None:
    with Kafka(brokers=2) as kafka, LiveCluster(address(kafka.address(1)), timeout=30) as cluster:
        cluster.state()
        cluster._deadline = Deadline(-1)
        assert cluster.ask("ListPartitionReassignmentsRequest", {"topics": None}).topics == ()
        with pytest.raises(CallError, match="no answer in time"):
            cluster.ask("DescribeLogDirsRequest", {"topics": None}, 2)
        cluster.state()
        assert cluster.ask("DescribeLogDirsRequest", {"topics": None}, 2).results
