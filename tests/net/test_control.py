"""Control over HTTP: operations as requests, what is refused, and what a browser may not do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

import pytest

from kwire.net.control import OPERATIONS, Control, ControlClient, ControlServer, operations
from tests.broker.served import cluster_of


def used(use: Callable[[str], Any]) -> Any:
    """Serve a cluster with control over HTTP, and use its url from a thread."""

    async def run() -> Any:
        cluster = cluster_of(2, host="127.0.0.1")
        for node in cluster.controller.nodes.values():
            node.port = 0
        control = Control.of(cluster)
        await control.serving.start()
        running = asyncio.ensure_future(control.serving.run())
        http = ControlServer(control, 0)
        try:
            return await asyncio.to_thread(use, http.url)
        finally:
            http.close()
            running.cancel()
            await control.serving.stop()

    return asyncio.run(run())


def asked(url: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = HTTPConnection(url.removeprefix("http://"), timeout=180)
    data = body if isinstance(body, str) else json.dumps(body or {})
    connection.request("POST", path, data, headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_records_are_text_or_base64() -> None:
    def use(url: str) -> Any:
        asked(url, "/create_topic", {"topic": "t", "partitions": 1, "replication_factor": 2})
        rows = [{"key": "k", "value": "one"}, {"value": {"base64": "/w=="}, "headers": [["h", "1"]]}]
        assert asked(url, "/produce", {"topic": "t", "records": rows}) == (200, {"result": 0})
        return asked(url, "/records", {"topic": "t"})[1]["result"]

    one, other = used(use)
    assert (one["key"], one["value"], other["value"]) == ("k", "one", {"base64": "/w=="})
    assert (other["key"], other["headers"]) == (None, [["h", "1"]])


def test_rules_and_brokers() -> None:
    def use(url: str) -> Any:
        client = ControlClient(url)
        rule = client.do("add_rule", {"api": "Produce", "action": "error", "error": "NOT_LEADER_OR_FOLLOWER"})
        client.do("stop_broker", {"broker": 1})
        client.do("start_broker", {"broker": 1})
        with pytest.raises(ValueError, match="'t-0' cannot be written|t-0: it cannot be written: NOT_LEADER"):  # noqa: RUF043
            client.do("create_topic", {"topic": "t"})
            client.do("produce", {"topic": "t", "records": [{"value": "x"}]})
        return client.do("hits", {"rule": rule}), client.do("notes", {})

    assert used(use) == (1, ["broker 1 is stopped"])


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("/nonsense", {}, "there is no operation 'nonsense'; operations are add_rule"),
        ("/stop_broker", {}, "missing 1 required"),
        ("/stop_broker", {"broker": 7}, "there is no broker 7; brokers are 1, 2"),
        ("/stop_broker", "{", "Expecting"),
        ("/stop_broker", "[]", "arguments are a JSON object"),
        ("/records", {"topic": "u"}, "there is no topic"),
        ("/add_rule", {"action": "explode"}, "'explode' is not an action"),
        ("/add_rule", {"action": "error", "api": "Fetch", "error": "NOPE"}, "NOPE"),
        ("/produce", {"topic": "u", "records": ["x"]}, "a record is an object"),
    ],
)
def test_what_cannot_be_done_has_a_reason(path: str, body: Any, reason: str) -> None:
    status, answer = used(lambda url: asked(url, path, body))
    assert (status, list(answer)) == (400, ["error"])
    assert reason in answer["error"]


def test_a_web_page_controls_nothing() -> None:
    def use(url: str) -> Any:
        from_page = asked(url, "/stop_broker", {"broker": 1}, Origin="http://example.org")
        rebound = asked(url, "/stop_broker", {"broker": 1}, Host="example.org:80")
        return from_page[0], rebound[0], asked(url, "/notes")[1]["result"]

    assert used(use) == (403, 403, [])


def test_all_operations_are_listed_with_their_arguments() -> None:
    def use(url: str) -> str:
        connection = HTTPConnection(url.removeprefix("http://"), timeout=180)
        connection.request("GET", "/")
        return connection.getresponse().read().decode()

    text = used(use)
    assert text == operations()
    assert all(f"\n{name}(" in text for name in OPERATIONS)
    assert "\nstop_broker(broker)\n    Stop a broker" in text
