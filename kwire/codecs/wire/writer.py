"""Writes bytes, and tracks the path, so that an error names its field."""

from __future__ import annotations

from typing import Any, NoReturn

from ...errors import EncodeError
from .construct_classes import Construct


class Writer:
    """The bytes written so far, and the path of the current value; used as construct's stream."""

    __slots__ = ("message", "out", "path", "version")

    def __init__(self, message: str | None = None, version: int | None = None) -> None:
        self.out: bytearray = bytearray()
        self.path: list[str | int] = []
        self.message: str | None = message
        self.version: int | None = version

    def child(self, segment: str | int, node: Construct, value: Any) -> None:
        """Write one part of the message with its name or index."""
        self.path.append(segment)
        node._build(value, self, None, "")
        self.path.pop()

    def refuse(self, kind: type[EncodeError], **facts: Any) -> NoReturn:
        """Raise an error with the path and context."""
        raise kind(segments=self.path, message=self.message, version=self.version, **facts)

    def write(self, data: bytes) -> int:
        """Write as a plain stream does; for construct's own classes."""
        self.out += data
        return len(data)
