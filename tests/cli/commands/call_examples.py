"""The examples of `kwire call` in its help, in the README and in docs/, and what a cluster needs for them."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Iterator
from typing import Any

import pytest

import kwire
from kwire.cli.help.topics import TOPICS, help_lines
from kwire.cli.main import main
from kwire.client.address import Address
from kwire.client.connection import BrokerConnection
from tests.docs.pages import PAGES, text_of

M = kwire.messages
_EXAMPLE = re.compile(r"kwire call (\S*:\d+|--offline) ([^`\n]*?)(?= *(?:`|-->|\n|  ))")
_ADDRESS = re.compile(r"(?:b1)?:\d+")


def examples(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Return the arguments of each example, without its address; but for those that need a listener with TLS, and those
    of hostile clients, whose connections brokers close."""
    texts = [text_of(page) for page in PAGES]
    for arguments in (["--help"], ["call", "--help"]):
        assert main(arguments) == 0
        texts.append(capsys.readouterr().out)
    texts += ["\n".join(help_lines(topic)) + "\n" for topic in TOPICS]
    found = {match[0] for text in texts for match in _EXAMPLE.finditer(text)}
    sound = sorted(one for one in found if "--security-protocol" not in one and "--hostile" not in one)
    return [[word for word in shlex.split(one)[2:] if not _ADDRESS.fullmatch(word)] for one in sound]


def ask(place: Address, name: str, version: int, message: Any) -> Any:
    with BrokerConnection(place, timeout=180) as broker:
        answer = broker.ask(kwire.codec(name, version), message)
    assert answer is not None
    return answer.message


def prepared(place: Address) -> Address:
    """Make the topic `orders` and the group `old`; returns the broker that coordinates that."""
    topic = M.CreateTopicsRequest.CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    made = ask(place, "CreateTopicsRequest", 5, M.CreateTopicsRequest(topics=(topic,), timeout_ms=20_000))
    assert made.topics[0].error_code == 0
    request = M.OffsetCommitRequest
    part = request.OffsetCommitRequestPartition(partition_index=0, committed_offset=0, committed_metadata="")
    rows = (request.OffsetCommitRequestTopic(name="orders", partitions=(part,)),)
    for coordinator in _coordinators(place):
        answer = ask(coordinator, "OffsetCommitRequest", 8, request(group_id="old", topics=rows))
        if not answer.topics[0].partitions[0].error_code:
            return coordinator
    raise AssertionError("no broker takes the commit")


def _coordinators(place: Address) -> Iterator[Address]:
    """Ask for the coordinator again and again: a real broker makes a topic first."""
    for _ in range(300):
        found = ask(place, "FindCoordinatorRequest", 3, M.FindCoordinatorRequest(key="old"))
        if not found.error_code:
            yield Address(found.host, found.port)
        time.sleep(0.1)


def run_all(place: Address, capsys: pytest.CaptureFixture[str]) -> None:
    """Run every example against a broker."""
    where = prepared(place)
    found = examples(capsys)
    assert len(found) >= 7
    assert {words[0].partition(":")[0] for words in found} >= {"ApiVersions", "Metadata", "FindCoordinator"}
    for words in found:
        code = main(["call", str(where), *words])
        printed = capsys.readouterr()
        assert (code, printed.err) == (0, ""), (words, printed)
