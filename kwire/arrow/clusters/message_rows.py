"""Rows of complete frames as the input of `kwire.cluster`: options to read them, their order, their messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...cluster import MESSAGES
from ...codecs.message_codec import codec_in
from ...errors import KwireError
from ...protocol import Frame, Result
from ...protocol.frame_parser import FrameParser
from ...schema.catalog import Catalog, catalog_for

ENVELOPE = "Envelope"
# The messages to read from captures, as options of `kwire.arrow.read` and of Spark's data source.
OPTIONS = {
    "apis": ",".join((*MESSAGES, ENVELOPE)),
    "body": "raw",
    "zookeeper": "true",
    "maskSecrets": "false",  # masked records could not be read
    "columns": "path,offset,timestamp,connection,direction,api_name,api_version,correlation_id,message",
}
COLUMNS = ("timestamp", "connection", "direction", "api_name", "api_version", "correlation_id", "message", "path")


def catalog_of(given: Mapping[str, Any]) -> Catalog:
    """Return the specs for the options `profile` and `release`; raise UnknownMessage like `kwire.codec`."""
    lower = {name.lower(): value for name, value in given.items()}
    return catalog_for(lower.get("profile") or None, lower.get("release") or None)


def sort_messages(batches: list[Any]) -> list[Any]:
    """Return messages sorted by time, requests first; messages without times keep the order of the file."""
    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    known = table["timestamp"].is_valid()
    side = pc.if_else(known, table["direction"], pa.scalar(None, pa.string()))
    when = pc.if_else(known, table["timestamp"].cast(pa.int64()), pa.scalar(-1, pa.int64()))
    order = [(name, "ascending") for name in ("when", "path", "side", "offset")]
    sorted_batches: list[Any] = (
        table.append_column("side", side).append_column("when", when).sort_by(order).to_batches()
    )
    return sorted_batches


def rows_in(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield for each row the cluster (None without this column) and the columns `COLUMNS`."""
    for batch in batches:
        has_clusters = "cluster" in batch.schema.names
        clusters = batch.column("cluster").to_pylist() if has_clusters else [None] * batch.num_rows
        times = batch.column("timestamp").cast(pa.int64()).to_pylist()
        others = [batch.column(name).to_pylist() for name in COLUMNS[1:]]
        yield from zip(clusters, times, *others, strict=True)


def read_row(frame: Frame, api_name: str, direction: str, api_version: int, catalog: Catalog) -> Result | None:
    """Decode the frame of a row; return None if the catalog lacks the message or version."""
    try:
        codec = codec_in(catalog, f"{api_name}{str(direction).capitalize()}", api_version)
    except KwireError:
        return None
    frame = replace(frame, bare=int.from_bytes(frame.data[:4], "big") != len(frame.data) - 4)
    reading = FrameParser(frame, catalog, salvage=True, trace=False)
    if frame.bare:
        return reading.body(codec)
    return reading.request(codec) if direction == "request" else reading.response(codec)


def ends_of(connection: dict[str, Any] | None) -> tuple[str, str]:
    """Return the addresses of the client and broker of a connection; empty strings without a connection."""
    if connection is None:
        return "", ""
    return _end(connection["src"], connection["src_port"]), _end(connection["dst"], connection["dst_port"])


def _end(host: str | None, port: int | None) -> str:
    return f"[{host}]:{port}" if host and ":" in host else f"{host}:{port}"
