"""Errors in the broker's own code: the client is told, the connection lives, the operator and the test see them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

import kwire
from kwire.broker import Parked
from kwire.broker.apis.registry import APIS
from kwire.broker.request_context import RequestContext
from kwire.broker.server.socket_server import SocketServer
from kwire.client.address import address
from kwire.client.connection import BrokerConnection
from kwire.errors import CallError
from kwire.testing import AsyncKafka, Kafka
from kwire.values import ErrorCode
from tests.broker.served import M, batch, fetching
from tests.broker.server.test_socket_server import ask, place, used

TOPIC = M.MetadataRequest.MetadataRequestTopic(name="t")
NAMED = M.MetadataRequest(topics=(TOPIC,))
VERSIONS = M.ApiVersionsRequest()
REPORTED = "an error in kwire, please report it: LookupError: 'broken' at test_server_errors.py:"


def fail(*_: Any) -> Any:
    raise LookupError("broken")


def broken(cluster: Any, api: str, handler: Callable[[RequestContext[Any]], Any] = fail) -> None:
    """Let an api have a handler with a bug."""
    cluster.table[api] = APIS[api]._replace(handler=handler)


def test_a_handler_that_fails_is_answered_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    def use(made: SocketServer) -> Any:
        broken(made.cluster, "Metadata")
        with BrokerConnection(place(made), timeout=90) as broker:
            answers = [ask(broker, "MetadataRequest", 12, NAMED).topics for _ in range(2)]
            assert ask(broker, "ApiVersionsRequest", 0, VERSIONS).error_code == 0  # on the same connection
        return answers, list(made.failures.errors)

    with caplog.at_level(logging.ERROR, "kwire.broker"):
        (answers, failures), notes = used(use)
    assert [[(row.name, row.error_code) for row in rows] for rows in answers] == [[("t", -1)]] * 2
    assert [type(error) for error in failures] == [LookupError] * 2
    assert [f"127.0.0.1: Metadata v12: {REPORTED}" in note for note in notes] == [True] * 2
    assert notes[0].endswith("; answered UNKNOWN_SERVER_ERROR") and "\n" not in notes[0]
    record = caplog.records[0]
    assert (record.name, record.exc_info is not None) == ("kwire.broker", True)


def test_an_answer_that_cannot_be_written_is_an_error_of_the_broker() -> None:
    def nameless(request: RequestContext[Any]) -> Any:
        row = M.MetadataResponse.MetadataResponseTopic(name=None)
        return M.MetadataResponse(topics=(row,))

    def use(made: SocketServer) -> Any:
        broken(made.cluster, "Metadata", nameless)
        with BrokerConnection(place(made), timeout=90) as broker:
            return [ask(broker, "MetadataRequest", version, NAMED).topics[0].error_code for version in (9, 12)]

    codes, (note,) = used(use)
    assert codes == [-1, 0]  # v12 has null
    assert "Metadata v9: an error in kwire, please report it: NullNotWritable" in note


def test_a_producer_that_wants_no_answer_is_disconnected() -> None:
    part = M.ProduceRequest.PartitionProduceData(index=0, records=batch(b"a"))
    rows = (M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,)),)

    def use(made: SocketServer) -> None:
        broken(made.cluster, "Produce")
        with BrokerConnection(place(made), timeout=90) as broker:
            broker.ask(kwire.codec("ProduceRequest", 9), M.ProduceRequest(acks=0, topic_data=rows))
            with pytest.raises(CallError):
                ask(broker, "ApiVersionsRequest", 0, VERSIONS)

    _, (note,) = used(use)
    assert "Produce v9: " in note and note.endswith("; closed")


def test_a_delayed_request_that_fails_harms_no_other() -> None:
    def park(request: RequestContext[Any]) -> Any:
        parked = Parked(fail, [("t", 0)])
        request.cluster.waiting.park(parked, request.now + 3600)
        return parked

    def use(made: SocketServer) -> Any:
        with (
            BrokerConnection(place(made), timeout=90) as broker,
            BrokerConnection(place(made), timeout=90) as other,
        ):
            ask(other, "MetadataRequest", 12, NAMED)  # creates the topic
            broken(made.cluster, "Fetch", park)
            part = M.ProduceRequest.PartitionProduceData(index=0, records=batch(b"a"))
            row = M.ProduceRequest.TopicProduceData(name="t", partition_data=(part,))
            produce = M.ProduceRequest(acks=-1, topic_data=(row,))

            async def fetch() -> Any:
                waiting = asyncio.to_thread(ask, broker, "FetchRequest", 11, fetching())
                task = asyncio.ensure_future(waiting)
                while not made.cluster.waiting.next_deadline:
                    await asyncio.sleep(0.001)
                written = await asyncio.to_thread(ask, other, "ProduceRequest", 9, produce)
                return written, await task

            return asyncio.run(fetch())

    (written, fetched), (note,) = used(use)
    assert written.responses[0].partition_responses[0].error_code == 0
    assert fetched.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "Fetch v11: an error in kwire" in note


def test_a_timer_that_fails_stops_no_clock() -> None:
    fired: list[bool] = []

    async def park(serving: SocketServer) -> None:
        now = serving.now()
        serving.cluster.waiting.park(Parked(fail), now)
        serving.cluster.waiting.park(Parked(lambda over: fired.append(over)), now + 0.01)
        serving.settle()

    async def run() -> list[str]:
        async with AsyncKafka() as kafka:
            serving = kafka._running.serving  # type: ignore[union-attr]
            await park(serving)
            with pytest.raises(LookupError, match="broken"):
                await kafka.wait_for(lambda: fired == [True] and False)
            await asyncio.sleep(0)
            return kafka.notes()

    (note,) = asyncio.run(run())
    assert f"a timer: {REPORTED}" in note


def test_the_clock_goes_on_if_a_check_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LookupError, match="broken") as raised, Kafka(topics=["t"]) as kafka:
        cluster = kafka._backend._running.serving.cluster  # type: ignore[union-attr]
        monkeypatch.setattr(cluster, "check", fail)
        kafka.wait_for(lambda: kafka.notes())
    assert "the broker's clock: an error in kwire" in raised.value.__notes__[0]


def test_pytest_sees_an_error_at_the_end_of_the_cluster() -> None:
    with pytest.raises(LookupError, match="broken") as raised, Kafka(topics=["t"]) as kafka:
        broken(kafka._backend._running.serving.cluster, "Metadata")  # type: ignore[union-attr]
        with BrokerConnection(address(kafka.bootstrap_servers), timeout=90) as broker:
            assert ask(broker, "MetadataRequest", 12, NAMED).topics[0].error_code == -1
    assert "Metadata v12: an error in kwire, please report it" in raised.value.__notes__[0]


def test_a_secret_in_an_error_is_not_printed(caplog: pytest.LogCaptureFixture) -> None:
    def use(made: SocketServer) -> Any:
        broken(made.cluster, "AlterUserScramCredentials")
        deletion = M.AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="a", mechanism=1)
        with BrokerConnection(place(made), timeout=90) as broker:
            request = M.AlterUserScramCredentialsRequest(deletions=(deletion,))
            return ask(broker, "AlterUserScramCredentialsRequest", 0, request).results[0].error_code

    code, (note,) = used(use)
    assert code == -1
    assert "LookupError at " in note and "broken" not in note
    assert "broken" not in caplog.text
