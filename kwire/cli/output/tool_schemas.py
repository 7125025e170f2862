"""JSON schemas of the structured results of `kwire mcp`: of tools whose commands have --json.

They name what an assistant needs; members that are not named here may be there, too.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def _object(required: tuple[str, ...] = (), about: str = "", /, **members: Schema) -> Schema:
    """Return the schema of an object; members are named as in the JSON, where one may be called `about`."""
    schema: Schema = {"type": "object", "properties": members}
    if about:
        schema["description"] = about
    if required:
        schema["required"] = list(required)
    return schema


def _list(about: str, item: Schema) -> Schema:
    return {"type": "array", "description": about, "items": item}


def _value(kind: str, about: str = "") -> Schema:
    """Return the schema of a value; `kind` ends with a question mark if it may be null."""
    name = kind.removesuffix("?")
    schema: Schema = {"type": [name, "null"] if kind.endswith("?") else name}
    return {**schema, "description": about} if about else schema


TEXT, NUMBER, INTEGER, TRUTH = (_value(kind) for kind in ("string", "number", "integer", "boolean"))
TEXT_OR_NULL, NUMBER_OR_NULL, INTEGER_OR_NULL = (_value(kind) for kind in ("string?", "number?", "integer?"))
NODES = {"type": ["array", "null"], "items": INTEGER}
TIME = _value("number?", "seconds since 1970")
LEFT_OUT = {
    "type": "object",
    "description": "of lists that were shortened, how many items are left out",
    "additionalProperties": INTEGER,
}
_SECONDS = {"type": "object", "description": "seconds by part", "additionalProperties": NUMBER_OR_NULL}
_ROW = _object(api=TEXT, requests=INTEGER, responses=INTEGER, meanSeconds=NUMBER_OR_NULL)
_SLOW = _object(api=TEXT, file=TEXT, requestFrame=INTEGER_OR_NULL, frame=INTEGER_OR_NULL, time=TIME)

OUTPUT_SCHEMAS: dict[str, Schema] = {
    "files": _object(("files",), files=_list("paths that the other tools take", TEXT), leftOut=LEFT_OUT),
    "stats": _object(
        ("kwire",),
        kwire=INTEGER,
        frames=INTEGER,
        bytes=INTEGER,
        rows=_list("counts, by the properties of `by`", _ROW),
        latencies=_list("percentiles, in seconds", _object(responses=INTEGER, latencySeconds=_SECONDS)),
        slowest=_list("the slowest requests", _SLOW),
        unanswered=_list("requests without a response", _object()),
        removedIn=_object((), "clients that use what a release removes", release=TEXT, clients=_list("", _object())),
        leftOut=LEFT_OUT,
    ),
    "latency": _object(
        ("kwire", "rows"),
        kwire=INTEGER,
        joined=_value("integer", "requests that were found in a broker's request log"),
        rows=_list("where the time went", _object(api=TEXT, requests=INTEGER, meanSeconds=_SECONDS)),
        slowest=_list("the slowest requests", _SLOW),
        leftOut=LEFT_OUT,
    ),
    "timeline": _object(
        ("kwire", "events"),
        kwire=INTEGER,
        events=_list(
            "what happened, in order of time",
            _object(
                ("time", "kind", "text", "frame", "about"),
                time=TIME,
                kind=TEXT,
                text=TEXT,
                file=TEXT,
                frame=_value("integer?", "the frame that shows it"),
                about=_list("whom it concerns: group:G, topic:T, client:C, broker:N", TEXT),
                count=_value("integer", "how often it happened in a row"),
                until=TIME,
            ),
        ),
        leftOut=LEFT_OUT,
    ),
    "cluster": _object(
        ("kwire", "clusterId", "controllerId", "brokers", "partitions"),
        kwire=INTEGER,
        clusterId=TEXT_OR_NULL,
        controllerId=_value("integer", "-1 if it is unknown"),
        brokers=_list("", _object(("nodeId",), nodeId=INTEGER, host=TEXT_OR_NULL, rack=TEXT_OR_NULL, fenced=TRUTH)),
        partitions=_list(
            "",
            _object(
                ("topic", "partition"),
                topic=TEXT,
                partition=INTEGER,
                leader=_value("integer?", "-1: none"),
                replicas=NODES,
                isr=NODES,
                offlineReplicas=NODES,
                underReplicated=TRUTH,
            ),
        ),
        deletedTopics=_list("", _object(("topic",), topic=TEXT, time=TIME, isExact=TRUTH)),
        leftOut=LEFT_OUT,
    ),
    "groups": _object(
        ("groups", "members", "partitions"),
        groups=_list("", _object(("group",), group=TEXT, protocol=TEXT_OR_NULL, generation=INTEGER_OR_NULL)),
        members=_list("", _object(("group", "member_id"), group=TEXT, member_id=TEXT, client_id=TEXT_OR_NULL)),
        partitions=_list(
            "",
            _object(
                ("group", "topic", "partition"),
                group=TEXT,
                topic=TEXT,
                partition=INTEGER,
                committed=INTEGER_OR_NULL,
                end=INTEGER_OR_NULL,
                lag=INTEGER_OR_NULL,
            ),
        ),
        leftOut=LEFT_OUT,
    ),
    "compare": _object(
        ("kwire", "differences"),
        kwire=INTEGER,
        before=TEXT,
        after=TEXT,
        differences=_list(
            "",
            _object(("kind", "subject", "isWorse"), kind=TEXT, subject=TEXT, isWorse=TRUTH),
        ),
        leftOut=LEFT_OUT,
    ),
    "schema": _object(
        ("messages",),
        messages=_list("", _object(("name", "fields"), name=TEXT, version=INTEGER, fields=_list("", _object()))),
        leftOut=LEFT_OUT,
    ),
    "errors": _object(
        ("errors",),
        errors=_list("", _object(("code", "name", "about"), code=INTEGER, name=TEXT, retriable=TRUTH, about=TEXT)),
        leftOut=LEFT_OUT,
    ),
}
