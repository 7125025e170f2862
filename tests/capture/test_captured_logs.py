"""What is decoded is what the brokers themselves logged: header, request and response, field by field (JSON logs)."""

from __future__ import annotations

import base64
import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from typing import Any

from kwire import Request, Response
from kwire.schema.former_field_names import FORMER_NAMES
from tests.capture.captured import CAPTURES, RUNS, Exchange, ends_of, exchanges, log_of
from tests.conftest import each_of

RECORDS = {"recordsSizeInBytes": "records", "recordSetSizeInBytes": "records"}
RECORDS["unalignedRecordsSizeInBytes"] = "unalignedRecords"
THE_LOGS_OWN = {"requestApiKeyName", "requestApiVersionDeprecated"}
PRODUCE = 0


def in_json(run: str) -> bool:
    return "request" in next(log_of(run))


JSON_RUNS = [run for run in RUNS if in_json(run)]
TEXT_RUNS = [run for run in RUNS if run not in JSON_RUNS]


def body(result: Request | Response) -> Any:
    return result.codec.to_json(result.message)


def differences(logged: Any, ours: Any, message: str, path: str = "") -> Iterator[str]:
    """Where two JSON values differ. Former names, hidden values and sizes of records are the same thing."""
    if isinstance(logged, dict) and isinstance(ours, dict):
        yield from _members(logged, dict(ours), message, path)
    elif isinstance(logged, list) and isinstance(ours, list) and len(logged) == len(ours):
        for index, (one, other) in enumerate(zip(logged, ours, strict=True)):
            yield from differences(one, other, message, f"{path}[{index}]")
    elif logged == "[hidden]" and isinstance(ours, str):
        return
    elif logged != ours or type(logged) is not type(ours):
        yield f"{path}: {logged!r} logged, {ours!r} ours"


def _members(logged: dict[str, Any], ours: dict[str, Any], message: str, path: str) -> Iterator[str]:
    for name, value in logged.items():
        mine = name if name in ours else _now(name, ours, logged, message)
        if mine is None:
            yield f"{path}.{name}: not in ours"
        elif mine in RECORDS.values():
            size = len(base64.b64decode(ours.pop(mine) or ""))
            if value not in ("", size, -1 if size == 0 else size):  # some messages are logged without their records
                yield f"{path}.{name}: {value} bytes logged, {size} ours"
        else:
            yield from differences(value, ours.pop(mine), message, f"{path}.{name}")
    yield from (f"{path}.{name}: not in the log" for name in ours)


def _now(name: str, ours: dict[str, Any], logged: dict[str, Any], message: str) -> str | None:
    """The name that a field has now."""
    if name in RECORDS:
        return RECORDS[name] if RECORDS[name] in ours else None
    names = (now for (owner, was), now in FORMER_NAMES.items() if was == name and owner.split(".")[0] == message)
    return next((now for now in names if now in ours and now not in logged), None)


def compared(entry: dict[str, Any], seen: Exchange) -> Iterator[str]:
    """Where a logged exchange and one of the wire differ."""
    header = seen.request.header
    theirs = entry["request_header"]
    ours = {
        "requestApiKey": header.request_api_key,
        "requestApiVersion": header.request_api_version,
        "correlationId": header.correlation_id,
    }
    if hasattr(header, "client_id") and "clientId" in theirs:
        ours["clientId"] = header.client_id
    yield from differences({name: theirs[name] for name in ours}, ours, "RequestHeader", "header")
    yield from (f"header.{name}: not in ours" for name in theirs.keys() - ours.keys() - THE_LOGS_OWN)
    response = seen.response
    refused = response is not None and response.codec.version != response.api_version
    if not (refused and entry["request"] == {}):  # which the broker could not read
        yield from differences(entry["request"], body(seen.request), seen.request.codec.name, "request")
    if isinstance(entry.get("response"), dict) and response is not None:
        yield from differences(entry["response"], body(response), response.codec.name, "response")
    elif isinstance(entry.get("response"), dict):
        silent = header.request_api_key == PRODUCE and getattr(seen.request.message, "acks", None) == 0
        if not silent and not seen.is_cut:
            yield "response: not on the wire"


def test_there_are_logs_in_json(shared: object) -> None:
    assert JSON_RUNS


def key_of(one: Exchange) -> tuple[Any, ...]:
    header = one.request.header
    return one.ends, one.is_forwarded, header.request_api_key, header.request_api_version, header.correlation_id


@each_of("run", JSON_RUNS, most=3)
def test_all_that_was_logged_is_equal_on_the_wire(run: str) -> None:
    waiting: defaultdict[tuple[Any, ...], deque[Exchange]] = defaultdict(deque)
    for one in exchanges(run):
        waiting[key_of(one)].append(one)
    total = Counter(
        f"{one.request.api_key}/{one.request.api_version}" for one in exchanges(run) if not one.is_forwarded
    )
    matched: Counter[str] = Counter()
    wrong: list[str] = []
    missing: Counter[str] = Counter()
    forwards: Counter[str] = Counter()
    for entry in log_of(run):
        forwarded = bool((entry.get("more") or {}).get("isForwarded"))
        name = f"{entry['api_key']}/{entry['api_version']}"
        ends = ends_of(entry["connection"])
        queue = waiting[ends, forwarded, entry["api_key"], entry["api_version"], entry["correlation_id"]]
        if not queue:
            missing[name] += 1
            continue
        (forwards if forwarded else matched)[name] += 1
        wrong += [
            f"{name} {entry['connection']} #{entry['correlation_id']}: {text}"
            for text in compared(entry, queue.popleft())
        ]
    assert wrong[:10] == []
    told = json.loads((CAPTURES / f"{run}.summary.json").read_text("utf-8"))["capture_as_a_whole"]
    assert total == told["by_api_and_version"]
    assert missing == {}
    assert forwards == told["request_log"]["only_in_log"]  # where the summary, too, knows nothing of the inside
    assert matched.total() > 50
    assert {key: count for key, count in (total - matched).items() if count} == told["request_log"]["only_on_wire"]
