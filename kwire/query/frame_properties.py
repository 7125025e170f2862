"""Properties of a frame that filters and --fields name: api, latency, client_id, time, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..protocol import Result, Undecodable
from ..protocol.results import client_of


class Property(NamedTuple):
    """A property of a frame from its header, its connection or the capture."""

    kind: str
    read: Callable[[Result], Any]
    about: str


def _read_source(name: str) -> Callable[[Result], Any]:
    return lambda result: getattr(result.frame.source, name)


def _read_attribute(name: str) -> Callable[[Result], Any]:
    return lambda result: getattr(result, name, None)


def _read_type(result: Result) -> str:
    return type(result).__name__.lower()


def _read_error_code(result: Result) -> str | None:
    return result.error.code if isinstance(result, Undecodable) else None


PROPERTIES: dict[str, Property] = {
    "api": Property("text", _read_attribute("api_name"), "name of the api: Metadata"),
    "api_key": Property("number", _read_attribute("api_key"), "number of the api"),
    "version": Property("number", _read_attribute("api_version"), "version of the api"),
    "type": Property("text", _read_type, "request, response, token or undecodable"),
    "correlation_id": Property("number", _read_attribute("correlation_id"), "correlation id"),
    "client_id": Property("text", client_of, "client id of the request, of a response that of its request"),
    "software": Property("text", lambda result: result.client.software, "client software, as ApiVersions names it"),
    "size": Property("number", lambda result: len(result.frame.data), "bytes of the frame, with its size field"),
    "latency": Property("number", _read_attribute("latency"), "of a response: seconds since its request"),
    "request_frame": Property(
        "number", _read_attribute("request_frame"), "of a response: number of the frame of its request"
    ),
    "response_frame": Property(
        "number", _read_attribute("response_frame"), "of a request: number of the frame of its response"
    ),
    "time": Property("time", _read_source("time"), "when the frame was captured"),
    "frame": Property("number", _read_source("frame"), "number of the frame in the capture"),
    "client": Property("text", _read_source("client"), "ip:port of the client"),
    "broker": Property("text", _read_source("broker"), "ip:port of the broker"),
    "connection": Property("number", _read_source("connection"), "number of the connection"),
    "faults": Property("number", lambda result: len(getattr(result, "faults", ())), "tolerated faults"),
    "undecodable": Property("text", _read_error_code, "error code of a frame that does not decode"),
}
