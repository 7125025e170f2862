"""kwire: Kafka's wire protocol in Python, every message in every version, every byte explained.

    >>> import kwire
    >>> codec = kwire.codec("MetadataRequest", 4)
    >>> codec.decode(codec.encode(kwire.messages.MetadataRequest(topics=None)))
    MetadataRequest(topics=None, allow_auto_topic_creation=True, include_cluster_authorized_operations=False, \
include_topic_authorized_operations=False, unknown_tags=None)

Importing kwire loads no other module; each name loads its module on first use.
"""

from __future__ import annotations

import sys as _sys
from types import SimpleNamespace as _SimpleNamespace
from typing import TYPE_CHECKING, Any

from .runtime import forks as _forks  # noqa: F401 (registers what happens at a fork)
from .runtime import hooks as _hooks

if TYPE_CHECKING:
    from . import messages as messages
    from . import values as values
    from .capture.logs.disk_entry import DiskEntry as DiskEntry
    from .capture.logs.log_batch import LogBatch as LogBatch
    from .capture.logs.log_batch import LogBytes as LogBytes
    from .capture.logs.log_batch import LogRecord as LogRecord
    from .capture.open_dump import open_dump as open_dump
    from .capture.open_dump import read_disk as read_disk
    from .capture.open_dump import read_dump as read_dump
    from .capture.open_dump import read_log as read_log
    from .codecs.columns.read_columns import arrow_schema as arrow_schema
    from .codecs.columns.read_columns import columns as columns
    from .codecs.message_codec import Codec as Codec
    from .codecs.message_codec import Salvaged as Salvaged
    from .codecs.native import engine as engine
    from .codecs.records import Record as Record
    from .codecs.records import RecordBatch as RecordBatch
    from .codecs.records import RecordHeader as RecordHeader
    from .codecs.records import UndecodableRecords as UndecodableRecords
    from .codecs.records import build_batch as build_batch
    from .codecs.records import parse_records as parse_records
    from .codecs.tracing import Span as Span
    from .codecs.typed_codec import codec as codec
    from .errors import DecodeError as DecodeError
    from .errors import EncodeError as EncodeError
    from .errors import KwireError as KwireError
    from .errors import MissingExtra as MissingExtra
    from .errors import SpecError as SpecError
    from .errors import UnknownMessage as UnknownMessage
    from .errors import UnsupportedVersion as UnsupportedVersion
    from .protocol import Connection as Connection
    from .protocol import Frame as Frame
    from .protocol import FrameDecoder as FrameDecoder
    from .protocol import FrameReader as FrameReader
    from .protocol import Header as Header
    from .protocol import HeaderReader as HeaderReader
    from .protocol import Peek as Peek
    from .protocol import Request as Request
    from .protocol import Response as Response
    from .protocol import Source as Source
    from .protocol import Token as Token
    from .protocol import Undecodable as Undecodable
    from .protocol import decode_frames as decode_frames
    from .protocol import decode_request as decode_request
    from .protocol import decode_response as decode_response
    from .protocol import encode_request as encode_request
    from .protocol import encode_response as encode_response
    from .protocol import peek as peek
    from .protocol.headers.header_versions import header_version_for as header_version_for
    from .query.display_filter import DisplayFilter as DisplayFilter
    from .query.display_filter import parse_filter as parse_filter
    from .query.filter_error import FilterError as FilterError
    from .render.annotated_hex import annotate as annotate
    from .render.html.explain_page import explain_html as explain_html
    from .render.html.notebook import show as show
    from .render.json_objects.frame_json import envelope as envelope
    from .runtime.preload import preload as preload
    from .schema.catalog import Catalog as Catalog
    from .schema.releases import release as release

_MODULES = {
    "Catalog": "schema.catalog",
    "Codec": "codecs.message_codec",
    "Connection": "protocol",
    "DecodeError": "errors",
    "DisplayFilter": "query.display_filter",
    "EncodeError": "errors",
    "FilterError": "query.filter_error",
    "Frame": "protocol",
    "FrameDecoder": "protocol",
    "FrameReader": "protocol",
    "Header": "protocol",
    "HeaderReader": "protocol",
    "KwireError": "errors",
    "DiskEntry": "capture.logs.disk_entry",
    "LogBatch": "capture.logs.log_batch",
    "LogBytes": "capture.logs.log_batch",
    "LogRecord": "capture.logs.log_batch",
    "MissingExtra": "errors",
    "Peek": "protocol",
    "Record": "codecs.records",
    "RecordBatch": "codecs.records",
    "RecordHeader": "codecs.records",
    "Request": "protocol",
    "Response": "protocol",
    "Salvaged": "codecs.message_codec",
    "Source": "protocol",
    "Span": "codecs.tracing",
    "SpecError": "errors",
    "Token": "protocol",
    "Undecodable": "protocol",
    "UndecodableRecords": "codecs.records",
    "UnknownMessage": "errors",
    "UnsupportedVersion": "errors",
    "annotate": "render.annotated_hex",
    "arrow_schema": "codecs.columns.read_columns",
    "build_batch": "codecs.records",
    "codec": "codecs.message_codec",
    "columns": "codecs.columns.read_columns",
    "decode_frames": "protocol",
    "decode_request": "protocol",
    "decode_response": "protocol",
    "encode_request": "protocol",
    "encode_response": "protocol",
    "engine": "codecs.native",
    "envelope": "render.json_objects.frame_json",
    "explain_html": "render.html.explain_page",
    "header_version_for": "protocol.headers.header_versions",
    "messages": "messages",
    "open_dump": "capture.open_dump",
    "parse_filter": "query.display_filter",
    "parse_records": "codecs.records",
    "peek": "protocol",
    "preload": "runtime.preload",
    "read_disk": "capture.open_dump",
    "read_dump": "capture.open_dump",
    "read_log": "capture.open_dump",
    "release": "schema.releases",
    "show": "render.html.notebook",
    "values": "values",
}
_PACKAGES = frozenset(("arrow", "spark", "testing"))  # they need extras, so that a star import leaves them out
__all__ = [
    "Catalog",
    "Codec",
    "Connection",
    "DecodeError",
    "DiskEntry",
    "DisplayFilter",
    "EncodeError",
    "FilterError",
    "Frame",
    "FrameDecoder",
    "FrameReader",
    "Header",
    "HeaderReader",
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
    "parse_filter",
    "parse_records",
    "peek",
    "preload",
    "read_disk",
    "read_dump",
    "read_log",
    "release",
    "show",
    "values",
]
__version__ = "0.1.0"


def _render(result: Any) -> str:
    from .render.html.notebook import show

    return show(result)._repr_html_()


def _message_classes(catalog: Any) -> Any:
    from .schema.message_classes import Messages

    return Messages(catalog)


def _find_former_module(name: str, path: object = None, target: object = None) -> Any:
    """Find a module that has moved: a pickle of an earlier release names it. Other finders have not found it."""
    if not name.startswith("kwire."):
        return None
    from .runtime.former_names import find_spec

    return find_spec(name)


_hooks.register(render=_render, messages=_message_classes)
_sys.meta_path.append(_SimpleNamespace(find_spec=_find_former_module))

if not TYPE_CHECKING:  # a type checker that reads this function would accept any name

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _PACKAGES:
            return import_module(f".{name}", __name__)
        if name not in _MODULES:
            raise AttributeError(f"module 'kwire' has no attribute {name!r}")
        module = import_module(f".{_MODULES[name]}", __name__)
        return module if _MODULES[name] == name else getattr(module, name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
