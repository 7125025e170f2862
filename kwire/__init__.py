"""kwire: Kafka's wire protocol in Python, every message and every version, every byte explained.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> codec.decode(codec.encode(kwire.messages.MetadataRequest(topics=None)))
    MetadataRequest(topics=None, allow_auto_topic_creation=True, include_cluster_authorized_operations=False, \
include_topic_authorized_operations=False, unknown_tags=None)

Importing this loads nothing; each name loads its room on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import messages as messages
    from . import values as values
    from ._codec import codec as codec
    from .codecs import Codec as Codec
    from .codecs import Salvaged as Salvaged
    from .columnar import arrow_schema as arrow_schema
    from .columnar import columns as columns
    from .dumps import open_dump as open_dump
    from .dumps import read_dump as read_dump
    from .dumps import read_log as read_log
    from .errors import DecodeError as DecodeError
    from .errors import EncodeError as EncodeError
    from .errors import KwireError as KwireError
    from .errors import MissingExtra as MissingExtra
    from .errors import SpecError as SpecError
    from .errors import UnknownMessage as UnknownMessage
    from .errors import UnsupportedVersion as UnsupportedVersion
    from .fast_path import engine as engine
    from .frames import Connection as Connection
    from .frames import Frame as Frame
    from .frames import FrameDecoder as FrameDecoder
    from .frames import FrameReader as FrameReader
    from .frames import Header as Header
    from .frames import HeaderReader as HeaderReader
    from .frames import InFlightRequests as InFlightRequests
    from .frames import Peek as Peek
    from .frames import Request as Request
    from .frames import Response as Response
    from .frames import Source as Source
    from .frames import Token as Token
    from .frames import Undecodable as Undecodable
    from .frames import decode_frames as decode_frames
    from .frames import decode_request as decode_request
    from .frames import decode_response as decode_response
    from .frames import encode_request as encode_request
    from .frames import encode_response as encode_response
    from .frames import peek as peek
    from .headers import header_version_for as header_version_for
    from .logs import LogBatch as LogBatch
    from .logs import LogBytes as LogBytes
    from .logs import LogRecord as LogRecord
    from .records import Record as Record
    from .records import RecordBatch as RecordBatch
    from .records import RecordHeader as RecordHeader
    from .records import UndecodableRecords as UndecodableRecords
    from .records import build_batch as build_batch
    from .records import parse_records as parse_records
    from .render.annotate import annotate as annotate
    from .render.envelope import envelope as envelope
    from .render.notebook import show as show
    from .render.page import explain_html as explain_html
    from .spec.catalog import Catalog as Catalog
    from .spec.releases import release as release
    from .tracing import Span as Span

_ROOMS = {
    "Catalog": "spec.catalog",
    "Codec": "codecs",
    "Connection": "frames",
    "DecodeError": "errors",
    "EncodeError": "errors",
    "Frame": "frames",
    "FrameDecoder": "frames",
    "FrameReader": "frames",
    "Header": "frames",
    "HeaderReader": "frames",
    "InFlightRequests": "frames",
    "KwireError": "errors",
    "LogBatch": "logs",
    "LogBytes": "logs",
    "LogRecord": "logs",
    "MissingExtra": "errors",
    "Peek": "frames",
    "Record": "records",
    "RecordBatch": "records",
    "RecordHeader": "records",
    "Request": "frames",
    "Response": "frames",
    "Salvaged": "codecs",
    "Source": "frames",
    "Span": "tracing",
    "SpecError": "errors",
    "Token": "frames",
    "Undecodable": "frames",
    "UndecodableRecords": "records",
    "UnknownMessage": "errors",
    "UnsupportedVersion": "errors",
    "annotate": "render.annotate",
    "arrow_schema": "columnar",
    "build_batch": "records",
    "codec": "codecs",
    "columns": "columnar",
    "decode_frames": "frames",
    "decode_request": "frames",
    "decode_response": "frames",
    "encode_request": "frames",
    "encode_response": "frames",
    "engine": "fast_path",
    "envelope": "render.envelope",
    "explain_html": "render.page",
    "header_version_for": "headers",
    "messages": "messages",
    "open_dump": "dumps",
    "parse_records": "records",
    "peek": "frames",
    "read_dump": "dumps",
    "read_log": "dumps",
    "release": "spec.releases",
    "show": "render.notebook",
    "values": "values",
}
__all__ = [
    "Catalog",
    "Codec",
    "Connection",
    "DecodeError",
    "EncodeError",
    "Frame",
    "FrameDecoder",
    "FrameReader",
    "Header",
    "HeaderReader",
    "InFlightRequests",
    "KwireError",
    "LogBatch",
    "LogBytes",
    "LogRecord",
    "MissingExtra",
    "Peek",
    "Record",
    "RecordBatch",
    "RecordHeader",
    "Request",
    "Response",
    "Salvaged",
    "Source",
    "Span",
    "SpecError",
    "Token",
    "Undecodable",
    "UndecodableRecords",
    "UnknownMessage",
    "UnsupportedVersion",
    "annotate",
    "arrow_schema",
    "build_batch",
    "codec",
    "columns",
    "decode_frames",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "engine",
    "envelope",
    "explain_html",
    "header_version_for",
    "messages",
    "open_dump",
    "parse_records",
    "peek",
    "read_dump",
    "read_log",
    "release",
    "show",
    "values",
]
__version__ = "0.1.0"


if not TYPE_CHECKING:  # a checker that saw this would let any name pass

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in _ROOMS:
            raise AttributeError(f"module 'kwire' has no attribute {name!r}")
        room = import_module(f".{_ROOMS[name]}", __name__)
        return room if _ROOMS[name] == name else getattr(room, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
