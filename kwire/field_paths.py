"""Paths to fields of decoded frames, as display filters and `kwire decode --fields` write them.

A path names a field at any depth of a message: `error_code` is any error code, `topics[].name` the name of any topic. A
word that is a property of the frame itself, such as `latency`, means that property.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from .codecs import Codec
from .codecs.field_plan import places_in
from .protocol import Request, Response, Result, Undecodable
from .protocol.results import client_of
from .spec.model import FieldSpec, MessageSpec, StructSpec

Steps = tuple[tuple[str, int | None], ...]  # names of attributes; of arrays the index of one element, or None for all


class Property(NamedTuple):
    """A property of a frame from its header, its connection or the capture."""

    kind: str
    read: Callable[[Result], Any]
    about: str


def _source(name: str) -> Callable[[Result], Any]:
    return lambda result: getattr(result.frame.source, name)


def _own(name: str) -> Callable[[Result], Any]:
    return lambda result: getattr(result, name, None)


def _type(result: Result) -> str:
    return type(result).__name__.lower()


def _error(result: Result) -> str | None:
    return result.error.code if isinstance(result, Undecodable) else None


PROPERTIES: dict[str, Property] = {
    "api": Property("text", _own("api_name"), "name of the api: Metadata"),
    "api_key": Property("number", _own("api_key"), "number of the api"),
    "version": Property("number", _own("api_version"), "version of the api"),
    "type": Property("text", _type, "request, response, token or undecodable"),
    "correlation_id": Property("number", _own("correlation_id"), "correlation id"),
    "client_id": Property("text", client_of, "client id of the request, of a response that of its request"),
    "software": Property("text", lambda result: result.client.software, "client software, as ApiVersions names it"),
    "size": Property("number", lambda result: len(result.frame.data), "bytes of the frame, with its size field"),
    "latency": Property("number", _own("latency"), "of a response: seconds since its request"),
    "request_frame": Property("number", _own("request_frame"), "of a response: number of the frame of its request"),
    "response_frame": Property("number", _own("response_frame"), "of a request: number of the frame of its response"),
    "time": Property("time", _source("time"), "when the frame was captured"),
    "frame": Property("number", _source("frame"), "number of the frame in the capture"),
    "client": Property("text", _source("client"), "ip:port of the client"),
    "broker": Property("text", _source("broker"), "ip:port of the broker"),
    "connection": Property("number", _source("connection"), "number of the connection"),
    "faults": Property("number", lambda result: len(getattr(result, "faults", ())), "tolerated faults"),
    "undecodable": Property("text", _error, "error code of a frame that does not decode"),
}


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A path to fields: `topics[].partitions[0].error_code`, or a property such as `latency`.

    Attributes:
        text: the path as given.
        steps: names of attributes, each with an index, or None for all elements.
    """

    text: str
    steps: Steps

    @property
    def property(self) -> Property | None:
        """The property of a frame that the path names; a path that begins with a dot names a field."""
        return PROPERTIES.get(self.steps[0][0]) if len(self.steps) == 1 and self.text[0] != "." else None

    def values(self, result: Result) -> Iterator[Any]:
        """Yield all values that a frame has at this path, of the message inside an envelope too."""
        if self.property is not None:
            value = self.property.read(result)
            if value is not None:
                yield value
        elif isinstance(result, Request | Response):
            for steps in _matching(result.codec, self.steps):
                yield from _held(result.message, steps)
            if isinstance(result.inside, Request | Response):
                yield from self.values(result.inside)

    def fields(self, spec: MessageSpec) -> Iterator[FieldSpec]:
        """Yield the fields of a message that the path can mean, over all its versions."""
        names = tuple(name for name, _ in self.steps)
        yield from (member for path, member in fields_of(spec.struct) if path[-len(names) :] == names)


@lru_cache(maxsize=4096)
def _matching(codec: Codec, steps: Steps) -> tuple[Steps, ...]:
    """Return the fields of a codec that a path means, each as steps from the message on."""
    names = tuple(name for name, _ in steps)
    found: dict[Steps, None] = {}
    for path in places_in(codec):
        parts = tuple(path.split("."))
        for end in range(len(names), len(parts) + 1):
            if parts[end - len(names) : end] == names:
                found[(*((part, None) for part in parts[: end - len(names)]), *steps)] = None
    return tuple(found)


def _held(value: Any, steps: Steps) -> Iterator[Any]:
    if not steps:
        yield value
        return
    (name, index), rest = steps[0], steps[1:]
    held = getattr(value, name, None)
    if not isinstance(held, tuple | list):
        if held is not None or not rest:
            yield from _held(held, rest)
        return
    for one in held if index is None else held[index : index + 1]:
        yield from _held(one, rest)


def fields_of(struct: StructSpec, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldSpec]]:
    """Yield all fields of a struct and of the structs inside it, with their paths of attributes."""
    for member in struct.fields:
        path = (*above, member.attribute)
        yield path, member
        if member.struct is not None:
            yield from fields_of(member.struct, path)


_KINDS = {"string": "text", "bool": "boolean", "uuid": "uuid", "bytes": "bytes", "records": "bytes"}


def kind_name(member: FieldSpec) -> str:
    """Return of what kind the values of a field are: number, text, boolean, uuid, bytes or struct."""
    if member.struct is not None:
        return "struct"
    return _KINDS.get(member.element, "number")
