"""The history of clusters as Arrow tables, from batches of complete frames and log batches.

This module converts columns and types; `kwire.cluster` interprets the messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from heapq import merge
from itertools import chain, groupby
from operator import itemgetter
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...capture.kafka.other_protocols import ZOOKEEPER
from ...capture.logs.log_topic import LogTopic, topic_of_folder
from ...cluster import ROWS, LoggedRecord, Observation, Tables, history_of, model_of
from ...cluster.events.draft_names import RELEASED
from ...cluster.events.metadata_log import logged_records
from ...cluster.events.observation import LOG
from ...cluster.refused_requests import Seen
from ...codecs.records import RecordBatch, parse_records
from ...errors import DecodeError
from ...protocol import Frame, Request, Response, Result
from ...protocol.frames.stream_faults import NotKafka
from ...protocol.message_summary import METADATA_TOPIC, METADATA_TOPIC_ID, is_of_metadata_log
from ...protocol.nested import decode_enveloped_request, decode_enveloped_response
from ...protocol.nested.topic_record_types import METADATA
from ...schema.catalog import Catalog, catalog_for
from ...zookeeper import Znode, ZooKeeperConnection, ZooKeeperSessions, znodes_in
from ..rows.row_schema import CORRUPT, ERROR_NAME
from .message_rows import ENVELOPE, OPTIONS, catalog_of, ends_of, read_row, rows_in, sort_messages
from .table_batches import ARROW_TYPES, union_batches


def reading_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that read what the history needs.

    Args:
        given: options that select files and specs; messages of a draft's profile are included.

    >>> reading_options({"profile": "KIP-36"})["apis"].split(",")[-2:]
    ['Envelope', 'TopicMetadataResponse']
    """
    catalog = catalog_of(given)
    names = [name for name in RELEASED if name in catalog]
    return {**given, **OPTIONS, "apis": ",".join([OPTIONS["apis"], *names])}


def table_schema(table: str) -> Any:
    """Return the `pyarrow.Schema` of a table.

    >>> table_schema("isr_shrinks").field("removed").type
    ListType(list<item: int32>)
    """
    return pa.schema(
        [(field.name, ARROW_TYPES[str(field.type).removesuffix(" | None")]) for field in fields(ROWS[table])]
    )


# All tables in one: each row has a struct in the column of its table, and null in the others.
UNION = pa.schema(
    [("cluster", pa.string()), ("table", pa.string())]
    + [(table, pa.struct(list(table_schema(table)))) for table in ROWS]
)


def tables_of(batches: Iterable[Any], catalog: Catalog | None = None) -> dict[str, Any]:
    """Return the history of one cluster.

    Args:
        batches: record batches read with `reading_options`, in any order.
        catalog: the specs of the messages; by default those of Kafka's releases.

    Returns:
        A `pyarrow.Table` for each of `kwire.cluster.ROWS`.

    Raises:
        MixedClusters: the messages contain several cluster ids.
    """
    rows = (row[1:] for row in rows_in(sort_messages([keep_wanted_rows(move_packets(batch)) for batch in batches])))
    seen = _MessagesOfRows(catalog or catalog_for()).seen(rows)
    return to_arrow(history_of(sort_stored_messages(seen)))


def to_arrow(tables: Tables) -> dict[str, Any]:
    """Return each table as a `pyarrow.Table`."""
    return {table: pa.Table.from_pylist(_dicts(tables, table), table_schema(table)) for table in ROWS}


def history_batches(batches: Iterable[Any], catalog: Catalog | None = None) -> Iterator[Any]:
    """Compute the histories of clusters, one after the other.

    Args:
        batches: record batches with the columns `cluster` and `COLUMNS`, read with `reading_options`; all rows of a
            cluster must be adjacent and in order.
        catalog: the specs of the messages; by default those of Kafka's releases.

    Yields:
        Record batches with the schema `UNION`. The rows of `sources` have the cluster ids; the caller refuses several
        ids of one cluster.
    """
    for cluster, rows in groupby(rows_in(map(move_packets, batches)), key=itemgetter(0)):
        seen = _MessagesOfRows(catalog or catalog_for()).seen(row[1:] for row in rows)
        tables = model_of(sort_stored_messages(seen)).tables()
        for table in ROWS:
            yield from union_batches(UNION, cluster, table, _dicts(tables, table))


def sort_stored_messages(seen: Iterable[Seen]) -> Iterator[Seen]:
    """Sort records of logs and znodes from JSON by their times; they come first because their rows have no time."""
    of_files: dict[str, list[Seen]] = {}
    others = iter(seen)
    for message in others:
        if not isinstance(message, LoggedRecord | Znode):
            others = chain([message], others)
            if message.time is None:  # it has no time
                return chain(*of_files.values(), others)
            break
        of_files.setdefault(message.file, []).append(message)
    return merge(*of_files.values(), others, key=lambda message: message.time or 0.0)


def move_packets(batch: Any) -> Any:
    """Move ZooKeeper packets from the column of malformed frames to the column `message`."""
    if CORRUPT not in batch.schema.names or ERROR_NAME not in batch.schema.names:
        return batch
    code, reason = (pc.struct_field(batch.column(ERROR_NAME), name) for name in ("code", "reason"))
    is_packet = pc.and_(pc.equal(code, NotKafka.code), pc.match_substring(reason, ZOOKEEPER))
    message = pc.if_else(pc.fill_null(is_packet, False), batch.column(CORRUPT), batch.column("message"))
    return batch.set_column(batch.schema.get_field_index("message"), "message", message)


def keep_wanted_rows(batch: Any) -> Any:
    """Return the relevant rows of a batch, without Fetch responses for other topics."""
    names = batch.column("api_name")
    is_log = pc.starts_with(names, "Fetch")
    about = pc.or_(
        pc.match_substring(batch.column("message"), METADATA_TOPIC.encode()),
        pc.match_substring(batch.column("message"), METADATA_TOPIC_ID),
    )
    return batch.filter(pc.or_(pc.invert(pc.fill_null(is_log, False)), pc.fill_null(about, False)))


class _MessagesOfRows:
    """Converts rows to the input of a cluster model.

    Args:
        catalog: the specs of the messages.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._topics: dict[str, LogTopic] = {}
        self._connections: dict[Any, ZooKeeperConnection] = {}
        self._sessions = ZooKeeperSessions()
        self._forwarded: dict[Any, Request] = {}

    def seen(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Seen]:
        """Yield the content of each row: a message, records of the metadata log, or znodes."""
        for row in rows:
            _, connection, _, api_name, api_version, _, data, path = row
            if data is None:
                continue
            if api_name is None and connection is None:
                yield from self._read_stored(bytes(data), path or "")
            elif api_name is None:
                yield from self._packet(*row)
            elif api_version is not None:
                yield from self._message(*row)

    def _packet(self, time: int | None, connection: Any, direction: str, *others: Any) -> Iterator[Znode]:
        data, path = others[-2:]
        packets = self._connections.setdefault(
            (path, *sorted(ends_of(connection))), ZooKeeperConnection(self._sessions)
        )
        for znode in packets.packet(direction == "request", bytes(data), None if time is None else time / 1e6):
            yield znode._replace(file=path)

    def _message(
        self, time: int | None, connection: Any, direction: str, name: str, version: int, number: int, *others: Any
    ) -> Iterator[Observation]:
        data, path = others
        result = read_row(Frame(bytes(data)), name, direction, version, self._catalog)
        if name == ENVELOPE:
            result = self._inside(result, (path, *ends_of(connection), number))
        if result is None or result.codec is None:
            return
        message = result.message if isinstance(result, Request | Response) else None
        if result.codec.name not in LOG or is_of_metadata_log(message):
            seconds = None if time is None else time / 1e6
            yield Observation(message, result.codec, seconds, *ends_of(connection), number, path)

    def _inside(self, envelope: Result | None, key: tuple[Any, ...]) -> Result | None:
        """Return the request or response in an Envelope (KIP-590); None if it cannot be decoded."""
        try:
            if isinstance(envelope, Request):
                self._forwarded[key] = request = decode_enveloped_request(envelope.message).request
                return request
            forwarded = self._forwarded.pop(key, None)
            if isinstance(envelope, Response) and forwarded is not None:
                return decode_enveloped_response(envelope.message, forwarded)
        except DecodeError:
            pass  # the envelope itself is complete: it is in the table of frames
        return None

    def _read_stored(self, data: bytes, path: str) -> Iterator[LoggedRecord | Znode]:
        """Yield the znodes of a JSON text, or the records of a batch of the metadata log.

        A batch is recognised by its records or its folder.
        """
        if data.startswith(b"{"):
            yield from (znode._replace(file=path) for znode in znodes_in(data.decode()) or ())
            return
        for batch in parse_records(data, salvage=True, may_be_cut=True):
            if isinstance(batch, RecordBatch):
                topic = self._topics.setdefault(path, LogTopic())
                topic.learn(batch)
                if METADATA in (topic.name, topic_of_folder(PurePath(path).parent.name)):
                    yield from (record._replace(file=path) for record in logged_records([batch]))


def _dicts(tables: Tables, table: str) -> list[dict[str, Any]]:
    names = [field.name for field in fields(ROWS[table])]
    times = [field.name for field in fields(ROWS[table]) if str(field.type).startswith("float")]
    rows = [{name: getattr(row, name) for name in names} for row in getattr(tables, table)]
    for row in rows:
        row.update({name: round(row[name] * 1e6) for name in times if row[name] is not None})
    return rows
