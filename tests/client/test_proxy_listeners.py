"""A proxy beside hostile brokers: it stays up, its listeners are bounded and closed, and nothing is a traceback."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import kwire
from kwire.client.address import Address, address
from kwire.client.connection import BrokerConnection
from kwire.client.deadline import Deadline
from kwire.client.proxy import Proxy
from kwire.client.proxy_listeners import Listeners
from kwire.errors import KwireError
from kwire.testing import HostileBroker, Kafka
from kwire.testing.hostile import BROKER_KINDS
from tests.conftest import ROOT

M = kwire.messages
ALL = M.MetadataRequest(topics=None)
SAMPLE = ("drip", "garbage", "endless", "bad-host", "reset")
KINDS = [pytest.param(kind, marks=() if kind in SAMPLE else pytest.mark.ci) for kind in BROKER_KINDS]


def through(upstream: str, use: Callable[[Address, Proxy], Any], **more: Any) -> tuple[Any, list[str]]:
    """Use a proxy from a thread; return the result, and the notes with what asyncio would print as tracebacks."""
    notes: list[str] = []

    async def run() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: notes.append(f"asyncio: {context}"))
        proxy = Proxy(Address("127.0.0.1", 0), address(upstream), show=lambda result: None, note=notes.append, **more)
        where = await proxy.start()
        try:
            return await asyncio.to_thread(use, where, proxy)
        finally:
            await proxy.stop()

    return asyncio.run(run()), notes


def ask_metadata(where: Address, seconds: float = 60) -> Any:
    with BrokerConnection(where, deadline=Deadline(seconds)) as broker:
        answer = broker.ask(kwire.codec("MetadataRequest", 12), ALL)
        assert answer is not None
        return answer.message


def answers(where: Address) -> bool:
    try:
        return ask_versions(where)
    except KwireError:
        return False


def ask_versions(where: Address) -> bool:
    with BrokerConnection(where, timeout=60) as broker:
        return 3 in broker.versions()


@pytest.mark.parametrize(
    "kind", [pytest.param(one, marks=() if one in SAMPLE else pytest.mark.ci) for one in BROKER_KINDS]
)
def test_other_clients_are_served_beside_a_hostile_response(kind: str) -> None:
    def use(where: Address, proxy: Proxy) -> bool:
        with suppress(KwireError):
            named = ask_metadata(where, 0.2)
            for broker in named.brokers[1:4]:  # clients follow what the proxy names
                with suppress(KwireError):
                    ask_metadata(Address(broker.host, broker.port), 0.2)
        return kind in ("wrong-versions", "no-versions") or ask_versions(where)

    with HostileBroker(f"{kind}:Metadata", seed=1) as broker:
        served, notes = through(broker.bootstrap_servers, use, timeout=0.3, most_listeners=20)
    assert served
    assert not [note for note in notes if note.startswith("asyncio") or "\n" in note]


def test_listeners_are_bounded_and_said_so() -> None:
    def use(where: Address, proxy: Proxy) -> int:
        named = ask_metadata(where)
        assert len(named.brokers) == 3001
        through_proxy = [broker for broker in named.brokers if broker.host == "127.0.0.1"]
        assert len(through_proxy) == 20
        assert ask_versions(where)
        return len(proxy.listeners.servers)

    with HostileBroker("many-brokers:Metadata") as broker:
        count, notes = through(broker.bootstrap_servers, use, most_listeners=20)
    assert count == 20
    assert notes == ["clients connect to some brokers without the proxy: 20 have a port here, the limit"]


def test_listeners_of_brokers_that_are_no_longer_named_are_closed() -> None:
    def use(where: Address, proxy: Proxy) -> None:
        before: set[Address] = set()
        for _ in range(3):
            named = {Address(broker.host, broker.port) for broker in ask_metadata(where).brokers}
            assert len(proxy.listeners.servers) == 4
            for old in before - named:
                with socket.socket() as client:
                    assert client.connect_ex(old) != 0
            before = named

    with HostileBroker("fickle:Metadata") as broker:
        through(broker.bootstrap_servers, use)


def test_a_listener_stays_while_another_broker_names_its_broker() -> None:
    first, second, third = (Address("127.0.0.1", port) for port in (1, 2, 3))

    async def run() -> None:
        listeners = Listeners("127.0.0.1", None, print)  # type: ignore[arg-type]
        await listeners.open(first)
        await listeners.name(first, [first, second, third], first=first, are_all=True)
        await listeners.name(second, [third], first=first, are_all=False)  # as FindCoordinator
        kept = await listeners.name(first, [first, second], first=first, are_all=True)
        assert list(kept) == [first, second]
        assert set(listeners.servers) == {first, second, third}  # the second still names the third
        await listeners.name(second, [first, second], first=first, are_all=True)
        assert set(listeners.servers) == {first, second}
        await listeners.name(first, [first], first=first, are_all=True)
        assert set(listeners.servers) == {first}
        listeners.close()

    asyncio.run(run())


@pytest.mark.ci
@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of open files to set")
def test_without_open_files_the_proxy_goes_on(tmp_path: Path) -> None:
    """F3: an accept error ended all later conversations."""
    with Kafka() as kafka, (tmp_path / "log").open("w+") as log, ExitStack() as stack:
        command = f"ulimit -n 60; exec {sys.executable} -m kwire proxy 127.0.0.1:0 {kafka.bootstrap_servers} -q"
        process = subprocess.Popen(["sh", "-c", command], cwd=ROOT, stderr=log)
        stack.callback(process.wait, 60)
        stack.callback(process.kill)
        while "listening on" not in (text := (tmp_path / "log").read_text()):
            assert process.poll() is None
        where = address(text.split("listening on ")[1].split()[0])
        with ExitStack() as idle:
            for _ in range(60):
                idle.enter_context(socket.create_connection(where))
            with pytest.raises(KwireError):
                ask_metadata(where, 0.5)
        deadline = time.monotonic() + 60
        while not answers(where):  # it still closes the other conversations, whose files a new one needs
            assert time.monotonic() < deadline
        assert process.poll() is None
    text = (tmp_path / "log").read_text()
    assert "Traceback" not in text
    assert "Too many open files" in text
