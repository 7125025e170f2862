"""Properties of a frame that filters and --fields name: api, topic, group, latency, client_id, time, ..."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..protocol import Request, Response, Result, Token, Undecodable
from ..protocol.frames.stream_faults import NotKafka
from ..protocol.results import client_of
from .frame_context import FrameContext

TYPES = ("request", "response", "token", "undecodable", "incomplete", "foreign")


class Property(NamedTuple):
    """A property of a frame from its header, its connection, the capture, or the names of its fields.

    Attributes:
        kind: number, text or time.
        read: returns the value, None if a frame does not have it; with `is_list`, all values.
        about: what it is.
        choices: the only values; empty if there are others.
        enum: the kind of numbers whose names are the values, such as ErrorCode.
    """

    kind: str
    read: Callable[[Result, FrameContext], Any]
    about: str
    is_list: bool = False
    choices: tuple[str, ...] = ()
    enum: str = ""

    def values(self, result: Result, context: FrameContext) -> Iterable[Any]:
        """Return all values in a frame."""
        value = self.read(result, context)
        if self.is_list:
            return list(value)
        return () if value is None else (value,)


def _read_source(name: str) -> Callable[[Result, FrameContext], Any]:
    return lambda result, context: getattr(result.frame.source, name)


def _read_attribute(name: str) -> Callable[[Result, FrameContext], Any]:
    return lambda result, context: getattr(result, name, None)


def _read_broker_time(part: str) -> Callable[[Result, FrameContext], float | None]:
    return lambda result, context: getattr(result.frame.broker_times, part, None)


def _read_type(result: Result, context: FrameContext) -> str:
    """Return the type of the frame's JSON (`render.json_objects.frame_json`)."""
    if isinstance(result, Undecodable):
        if result.is_failure:
            return "undecodable"
        return "foreign" if isinstance(result.error, NotKafka) else "incomplete"
    return "token" if isinstance(result, Token) else str(result.codec.spec.type)


def _read_api(result: Result, context: FrameContext) -> str | None:
    return result.codec.spec.api_name if result.codec is not None and result.codec.spec.api_key is not None else None


def _read_api_key(result: Result, context: FrameContext) -> int | None:
    if result.codec is not None:
        return result.codec.spec.api_key
    key: int | None = getattr(result.header, "request_api_key", None)
    return key


def _read_version(result: Result, context: FrameContext) -> int | None:
    if isinstance(result, Request | Response):
        return result.api_version
    if result.codec is not None:
        return result.codec.version
    version: int | None = getattr(result.header, "request_api_version", None)
    return version


def _read_correlation_id(result: Result, context: FrameContext) -> int | None:
    whole: Any = result if isinstance(result, Request | Response) else result.header
    correlation_id: int | None = getattr(whole, "correlation_id", None)
    return correlation_id


def _read_error_code(result: Result, context: FrameContext) -> str | None:
    return result.error.code if isinstance(result, Undecodable) else None


def _read_topics(result: Result, context: FrameContext) -> Iterable[str]:
    return context.topics(result)


def _read_groups(result: Result, context: FrameContext) -> Iterable[str]:
    return context.groups.of(result)


def _read_errors(result: Result, context: FrameContext) -> Iterable[str]:
    return context.errors(result)


def _read_calls(result: Result, context: FrameContext) -> Iterable[tuple[str, frozenset[int | None]]]:
    """Return the message of a frame with its versions, and that inside an envelope."""
    for whole in (result, getattr(result, "inside", None)):
        if isinstance(whole, Result) and whole.codec is not None:
            yield whole.codec.spec.name, frozenset((whole.codec.version, getattr(whole, "api_version", None)))


def _read_faults(result: Result, context: FrameContext) -> bool | None:
    """Return True for a frame that is undecodable, or has an error code other than 0."""
    is_bad = result.is_failure if isinstance(result, Undecodable) else any(True for _ in context.errors(result))
    return is_bad or None


PROPERTIES: dict[str, Property] = {
    "api": Property("text", _read_api, "name of the api: Metadata"),
    "api_key": Property("number", _read_api_key, "number of the api"),
    "version": Property("number", _read_version, "version of the api"),
    "type": Property("text", _read_type, ", ".join(TYPES), choices=TYPES),
    "correlation_id": Property("number", _read_correlation_id, "correlation id"),
    "client_id": Property(
        "text", lambda result, context: client_of(result), "client id of the request, of a response that of its request"
    ),
    "software": Property(
        "text", lambda result, context: result.client.software, "client software, as ApiVersions names it"
    ),
    "topic": Property("text", _read_topics, "topics in the frame; those that it names by id, too", is_list=True),
    "group": Property("text", _read_groups, "groups in the frame; a response has those of its request", is_list=True),
    "error": Property(
        "text", _read_errors, "names of the error codes in the frame, without NONE", is_list=True, enum="ErrorCode"
    ),
    "size": Property(
        "number", lambda result, context: len(result.frame.data), "bytes of the frame, with its size field"
    ),
    "latency": Property("number", _read_attribute("latency"), "of a response: seconds since its request"),
    "request_frame": Property(
        "number", _read_attribute("request_frame"), "of a response: number of the frame of its request"
    ),
    "response_frame": Property(
        "number", _read_attribute("response_frame"), "of a request: number of the frame of its response"
    ),
    "total_time": Property("number", _read_broker_time("total"), "in a broker's log: seconds to the sent response"),
    "queue_time": Property("number", _read_broker_time("queue"), "in a broker's log: seconds in the request queue"),
    "local_time": Property("number", _read_broker_time("local"), "in a broker's log: seconds of handling"),
    "remote_time": Property("number", _read_broker_time("remote"), "in a broker's log: seconds in a purgatory"),
    "throttle_time": Property("number", _read_broker_time("throttle"), "in a broker's log: seconds of a quota's delay"),
    "response_queue_time": Property(
        "number", _read_broker_time("response_queue"), "in a broker's log: seconds in the response queue"
    ),
    "send_time": Property("number", _read_broker_time("send"), "in a broker's log: seconds of sending the response"),
    "time": Property("time", _read_source("time"), "when the frame was captured"),
    "frame": Property("number", _read_source("frame"), "number of the frame in the capture"),
    "client": Property("text", _read_source("client"), "ip:port of the client"),
    "broker": Property("text", _read_source("broker"), "ip:port of the broker"),
    "connection": Property("number", _read_source("connection"), "number of the connection"),
    "file": Property("text", _read_source("file"), "name of the file"),
    "faults": Property("number", lambda result, context: len(getattr(result, "faults", ())), "tolerated faults"),
    "undecodable": Property("text", _read_error_code, "error code of a frame that does not decode"),
}

# What options ask for that no path names; a path cannot have parentheses.
OF_OPTIONS: dict[str, Property] = {
    "(call)": Property("text", _read_calls, "--api", is_list=True),
    "(errors)": Property("boolean", _read_faults, "--errors"),
}
