"""Host names that cannot be looked up, and what else sockets raise, are one line each."""

from __future__ import annotations

import socket

import pytest

from kwire.cli.main import main
from kwire.client.address import Address
from kwire.client.call_errors import call_errors
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError

BAD_HOSTS = ["a..b", "x" * 64, ".", "\ud800", "\u202eevil", "ü" * 70]
NO_HOSTS = ["", "a\0b", "\x1b]0;title\x07", "127.0.0.1\n"]


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_a_host_name_that_idna_refuses(host: str) -> None:
    with pytest.raises(CallError) as info:
        BrokerConnection(Address(host, 9092))
    assert info.value.problem in ("cannot connect: this is not a host name", "this is not an address")


@pytest.mark.parametrize(("host", "port"), [*((host, 9092) for host in NO_HOSTS), ("b", -1), ("b", 0), ("b", 70_000)])
def test_what_no_look_up_should_see(host: str, port: int) -> None:
    with pytest.raises(CallError, match="this is not an address"):
        BrokerConnection(Address(host, port))


@pytest.mark.parametrize(
    "command", [["call", "a..b:9092", "Metadata"], ["cluster", "a..b:9092"], ["place", "a..b:9092", "--repair"]]
)
def test_a_typed_host_name_is_one_line(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    captured = capsys.readouterr()
    assert captured.err.splitlines()[0] == "kwire: error: a..b:9092: cannot connect: this is not a host name"
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("command", [["proxy", "a..b:0", "b:9092", "--public"], ["serve", "a..b:0", "--public"]])
def test_nor_can_anything_listen_there(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 2
    assert "kwire: error: a..b:0: cannot listen: this is not a host name" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimeoutError("timed out"), "b:1: cannot connect: no answer in time"),
        (ConnectionRefusedError(111, "Connection refused"), "b:1: cannot connect: Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "b:1: cannot connect: Name or service not known"),
    ],
)
def test_the_reason_is_kept(error: OSError, text: str) -> None:
    with pytest.raises(CallError) as info, call_errors("b:1", "cannot connect", "does a broker listen there?"):
        raise error
    assert (str(info.value), info.value.hint) == (text, "does a broker listen there?")


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), call_errors("b:1"):
        raise KeyError("a mistake of the program")
