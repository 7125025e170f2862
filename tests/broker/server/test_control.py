"""Control over HTTP: operations as requests, what is refused, and what a browser may not do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any

import pytest

from kwire.broker.server.control import OPERATIONS, Control
from kwire.broker.server.control_client import ControlClient
from kwire.broker.server.control_http import ControlServer, operations
from tests.broker.served import cluster_of

TOKEN = "only-who-starts-it-knows"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def used(use: Callable[[str], Any]) -> Any:
    """Serve a cluster with control over HTTP, and use its url from a thread."""

    async def run() -> Any:
        cluster = cluster_of(2, host="127.0.0.1")
        for node in cluster.controller.nodes.values():
            node.port = 0
        control = Control.of(cluster)
        await control.serving.start()
        running = asyncio.ensure_future(control.serving.run())
        http = ControlServer(control, 0, TOKEN)
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
    connection.request("POST", path, data, BEARER | headers)
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
        client = ControlClient(url, TOKEN)
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
        ("/records", {"topic": "u"}, "does not exist"),
        ("/add_rule", {"action": "explode"}, "'explode' is not an action"),
        ("/add_rule", {"action": "error", "api": "Fetch", "error": "NOPE"}, "NOPE"),
        ("/produce", {"topic": "u", "records": ["x"]}, "a record is an object"),
        ("/advance", {"seconds": -1}, "cannot advance by -1 seconds; it moves forward only, and up to 100 years"),
        ("/advance", {"seconds": 1e308}, "cannot advance by 1e+308 seconds"),
        ("/advance", {"seconds": 10**400}, "cannot advance by 1000"),
        ("/advance", '{"seconds": 1e999}', "cannot advance by inf seconds"),
        ("/advance", '{"seconds": NaN}', "NaN is no number of JSON"),
        ("/advance", {"seconds": "1"}, "seconds is a number, not '1'"),
        ("/advance", {"seconds": True}, "seconds is a number, not True"),
        ("/set_network", '{"delay": 1e999}', "delay is inf; it takes seconds, from 0 to 86400"),
        ("/set_network", {"delay": "1"}, "delay is a number, not '1'"),
        (
            "/set_network",
            '{"bytes_per_second": 1e999}',
            "bytes_per_second is inf; give at least 1, or null for no limit",
        ),
        ("/set_network", {"bytes_per_second": 1e-300}, "bytes_per_second is 1e-300"),
        ("/add_rule", '{"action": "delay", "seconds": 1e999}', "`seconds` is inf; it takes seconds, from 0 to 86400"),
        ("/add_rule", {"action": "cut", "after": 1.5}, "`after` is 1.5; it takes a number of bytes"),
        ("/add_rule", {"action": "drop", "times": "2"}, "`times` is '2'; it takes a number"),
        ("/add_rule", {"action": "drop", "broker": 1.0}, "`broker` is 1.0; it takes a number"),
        ("/add_rule", {"action": "drop", "client": 7}, "`client` is 7; it takes text"),
        ("/add_rule", {"action": "drop", "api": 3}, "`api` is 3; it takes text"),
        ("/add_rule", {"action": "drop", "hits": "many"}, "a rule has no hits; it has after, answer, api"),
        ("/add_rule", {"action": "drop", "where": "x"}, "`where` is not a function"),
        ("/add_rule", {"action": "respond", "answer": "x"}, "`answer` is neither a response message nor a function"),
    ],
)
def test_what_cannot_be_done_has_a_reason(path: str, body: Any, reason: str) -> None:
    status, answer = used(lambda url: asked(url, path, body))
    assert (status, list(answer)) == (400, ["error"])
    assert reason in answer["error"]


def test_a_refused_number_changes_nothing() -> None:
    def use(url: str) -> Any:
        for body in ('{"seconds": 1e999}', {"seconds": 2e308}, {"seconds": 100 * 366 * 24 * 3600}):
            assert asked(url, "/advance", body)[0] == 400
        assert asked(url, "/advance", {"seconds": 99 * 365 * 24 * 3600})[0] == 200
        assert asked(url, "/advance", {"seconds": 2 * 365 * 24 * 3600})[0] == 400  # 101 years in all
        asked(url, "/create_topic", {"topic": "t"})
        asked(url, "/produce", {"topic": "t", "records": [{"value": "x"}]})
        return asked(url, "/records", {"topic": "t"})[1]["result"][0]["timestamp"]

    assert used(use) > 99 * 365 * 24 * 3600 * 1000


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer other", TOKEN, f"Basic {TOKEN}", "Bearer \xe9"])
def test_another_user_of_the_machine_controls_nothing(header: str) -> None:
    def use(url: str) -> Any:
        refused = asked(url, "/stop_broker", {"broker": 1}, Authorization=header)
        return refused, asked(url, "/notes")

    (status, answer), notes = used(use)
    assert (status, notes) == (401, (200, {"result": []}))
    assert "Authorization: Bearer" in answer["error"] and TOKEN not in answer["error"]


def test_the_token_is_new_with_each_server() -> None:
    async def run() -> list[str]:
        control = Control.of(cluster_of(1))
        servers = [ControlServer(control, 0) for _ in range(2)]
        for server in servers:
            server.close()
        return [server.token for server in servers]

    one, other = asyncio.run(run())
    assert one != other and len(one) >= 20


def test_an_error_in_an_operation_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise LookupError("broken")

    monkeypatch.setattr(Control, "coordinator", fail)

    def use(url: str) -> Any:
        answer = asked(url, "/coordinator", {"group": "g"})
        return answer, asked(url, "/failures")[1]["result"]

    answer, (failure,) = used(use)
    assert answer == (500, {"error": "an error in kwire: LookupError: broken"})
    assert "control operation coordinator: an error in kwire, please report it: LookupError: 'broken' at" in failure


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
