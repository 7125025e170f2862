"""Converts batches of complete frames and log batches to the tables of `kwire.cluster` in Arrow.

This module converts columns and types; `kwire.cluster` interprets the messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from heapq import merge
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import PurePath
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pyarrow.compute as pc

from ..capture.kafka.other_protocols import ZOOKEEPER
from ..capture.logs.log_topic import LogTopic, topic_of_folder
from ..cluster import MESSAGES, ROWS, LoggedRecord, Observation, Tables, history_of
from ..cluster.consumer_groups.rows import MemberRow, PartitionRow
from ..cluster.consumer_groups.tracker import APIS, GroupTracker
from ..cluster.events.body import RELEASED
from ..cluster.events.metadata_log import logged_records
from ..cluster.events.observation import LOG
from ..cluster.refused_requests import Seen
from ..cluster.sources import files_of_ids
from ..codecs import codec_in
from ..errors import DecodeError, KwireError
from ..internal import decode_enveloped_request, decode_enveloped_response
from ..internal.topic_records import METADATA
from ..protocol import Client, Frame, Request, Response, Result, Source
from ..protocol.frame_codec import FrameReading
from ..protocol.framing import NotKafka
from ..records import RecordBatch, parse_records
from ..redact.metadata_log_secrets import TOPIC, TOPIC_ID, is_of_metadata_log
from ..spec.catalog import Catalog, catalog_for
from ..zookeeper import Znode, ZooKeeperConnection, ZooKeeperSessions, znodes_in
from .row_schema_and_batches import CORRUPT, ERROR_NAME


class MixedClusters(KwireError):
    """Raised if files of several clusters are read as one: `cluster` is its name, `files` has a file for each id."""

    hint = "name clusters by the paths of their files, with --cluster REGEX, or give the files of one cluster alone"

    def __init__(self, cluster: str = "", files: dict[str, str] | None = None) -> None:
        super().__init__(cluster, files)
        self.cluster: str = cluster
        self.files: dict[str, str] = files or {}

    def __str__(self) -> str:
        found = ", ".join(f"{cluster_id} ({file})" for cluster_id, file in self.files.items())
        name = f"cluster {self.cluster}: " if self.cluster else ""
        return f"{name}its files name {len(self.files)} cluster ids: {found}; {self.hint}"


ENVELOPE = "Envelope"
# The messages to read from captures, as options of `kwire.arrow.read` and of Spark's data source.
OPTIONS = {
    "apis": ",".join((*MESSAGES, ENVELOPE)),
    "body": "raw",
    "zookeeper": "true",
    "columns": "path,offset,timestamp,connection,direction,api_name,api_version,correlation_id,message",
}
COLUMNS = ("timestamp", "connection", "direction", "api_name", "api_version", "correlation_id", "message", "path")
_TYPES = {
    "str": pa.string(),
    "int": pa.int32(),
    "Nodes": pa.list_(pa.int32()),
    "float": pa.timestamp("us", "UTC"),
    "tuple[str, ...]": pa.list_(pa.string()),
    "tuple[str | None, ...]": pa.list_(pa.string()),
}
ROWS_IN_BATCH = 4096


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


def catalog_of(given: Mapping[str, Any]) -> Catalog:
    """Return the specs for the options `profile` and `release`; raise UnknownMessage like `kwire.codec`."""
    lower = {name.lower(): value for name, value in given.items()}
    return catalog_for(lower.get("profile") or None, lower.get("release") or None)


def table_schema(table: str) -> Any:
    """Return the `pyarrow.Schema` of a table.

    >>> table_schema("isr_shrinks").field("removed").type
    ListType(list<item: int32>)
    """
    return pa.schema([(field.name, _TYPES[str(field.type).removesuffix(" | None")]) for field in fields(ROWS[table])])


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
    rows = (row[1:] for row in rows_in(in_order([wanted(with_packets(batch)) for batch in batches])))
    tables = history_of(in_time(_Rows(catalog or catalog_for()).seen(rows)))
    files = files_of_ids((row.file, row.cluster_ids) for row in tables.sources)
    if len(files) > 1:
        raise MixedClusters("", files)
    return to_arrow(tables)


def to_arrow(tables: Tables) -> dict[str, Any]:
    """Return each table as a `pyarrow.Table`."""
    return {table: pa.Table.from_pylist(_dicts(tables, table), table_schema(table)) for table in ROWS}


def in_order(batches: list[Any]) -> list[Any]:
    """Return messages sorted by time, requests first; messages without times keep the order of the file."""
    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    known = table["timestamp"].is_valid()
    side = pc.if_else(known, table["direction"], pa.scalar(None, pa.string()))
    when = pc.if_else(known, table["timestamp"].cast(pa.int64()), pa.scalar(-1, pa.int64()))
    order = [(name, "ascending") for name in ("when", "path", "side", "offset")]
    found: list[Any] = table.append_column("side", side).append_column("when", when).sort_by(order).to_batches()
    return found


def history_batches(batches: Iterable[Any], catalog: Catalog | None = None) -> Iterator[Any]:
    """Compute the histories of clusters, one after the other.

    Args:
        batches: record batches with the columns `cluster` and `COLUMNS`, read with `reading_options`; all rows of a
            cluster must be adjacent and in order.
        catalog: the specs of the messages; by default those of Kafka's releases.

    Yields:
        Record batches with the schema `UNION`.
    """
    for cluster, rows in groupby(rows_in(map(with_packets, batches)), key=itemgetter(0)):
        tables = history_of(in_time(_Rows(catalog or catalog_for()).seen(row[1:] for row in rows)))
        for table in ROWS:
            yield from union_batches(UNION, cluster, table, _dicts(tables, table))


def union_batches(schema: Any, cluster: Any, table: str, rows: Iterable[dict[str, Any]]) -> Iterator[Any]:
    """Yield the rows of one table of a cluster, in batches of a schema that has a column for each table.

    Args:
        schema: the schema: the cluster, the name of the table, and a column of structs for each table.
        cluster: the id of the cluster.
        table: the name of the table.
        rows: the rows of the table.
    """
    found = iter(rows)
    while part := list(islice(found, ROWS_IN_BATCH)):
        columns = [pa.nulls(len(part), field.type) for field in schema]
        columns[:2] = [pa.array([value] * len(part), pa.string()) for value in (cluster, table)]
        place = schema.get_field_index(table)
        columns[place] = pa.array(part, schema.field(place).type)
        yield pa.record_batch(columns, schema=schema)


def rows_in(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield for each row the cluster (None without this column) and the columns `COLUMNS`."""
    for batch in batches:
        has_clusters = "cluster" in batch.schema.names
        clusters = batch.column("cluster").to_pylist() if has_clusters else [None] * batch.num_rows
        times = batch.column("timestamp").cast(pa.int64()).to_pylist()
        others = [batch.column(name).to_pylist() for name in COLUMNS[1:]]
        yield from zip(clusters, times, *others, strict=True)


def in_time(seen: Iterable[Seen]) -> Iterator[Seen]:
    """Sort records of logs and znodes from JSON by their times; they come first because their rows have no time."""
    of_files: dict[str, list[Seen]] = {}
    others = iter(seen)
    for one in others:
        if not isinstance(one, LoggedRecord | Znode):
            others = chain([one], others)
            if one.time is None:  # it has no time
                return chain(*of_files.values(), others)
            break
        of_files.setdefault(one.file, []).append(one)
    return merge(*of_files.values(), others, key=lambda one: one.time or 0.0)


def with_packets(batch: Any) -> Any:
    """Move ZooKeeper packets from the column of malformed frames to the column `message`."""
    if CORRUPT not in batch.schema.names or ERROR_NAME not in batch.schema.names:
        return batch
    code, reason = (pc.struct_field(batch.column(ERROR_NAME), name) for name in ("code", "reason"))
    is_packet = pc.and_(pc.equal(code, NotKafka.code), pc.match_substring(reason, ZOOKEEPER))
    message = pc.if_else(pc.fill_null(is_packet, False), batch.column(CORRUPT), batch.column("message"))
    return batch.set_column(batch.schema.get_field_index("message"), "message", message)


def wanted(batch: Any) -> Any:
    """Return the relevant rows of a batch, without Fetch responses for other topics."""
    names = batch.column("api_name")
    is_log = pc.starts_with(names, "Fetch")
    about = pc.or_(
        pc.match_substring(batch.column("message"), TOPIC.encode()),
        pc.match_substring(batch.column("message"), TOPIC_ID),
    )
    return batch.filter(pc.or_(pc.invert(pc.fill_null(is_log, False)), pc.fill_null(about, False)))


class _Rows:
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
                yield from self._stored(bytes(data), path or "")
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
                self._forwarded[key] = found = decode_enveloped_request(envelope.message).request
                return found
            asked = self._forwarded.pop(key, None)
            if isinstance(envelope, Response) and asked is not None:
                return decode_enveloped_response(envelope.message, asked)
        except DecodeError:
            pass  # the envelope itself is complete: it is in the table of frames
        return None

    def _stored(self, data: bytes, path: str) -> Iterator[LoggedRecord | Znode]:
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


def read_row(frame: Frame, api_name: str, direction: str, api_version: int, catalog: Catalog) -> Result | None:
    """Decode the frame of a row; return None if the catalog lacks the message or version."""
    try:
        codec = codec_in(catalog, f"{api_name}{str(direction).capitalize()}", api_version)
    except KwireError:
        return None
    frame = replace(frame, bare=int.from_bytes(frame.data[:4], "big") != len(frame.data) - 4)
    reading = FrameReading(frame, catalog, salvage=True, trace=False)
    read = reading.body if frame.bare else reading.request if direction == "request" else reading.response
    return read(codec)


def ends_of(connection: dict[str, Any] | None) -> tuple[str, str]:
    """Return the addresses of the client and broker of a connection; empty strings without a connection."""
    if connection is None:
        return "", ""
    return _end(connection["src"], connection["src_port"]), _end(connection["dst"], connection["dst_port"])


def _end(host: str | None, port: int | None) -> str:
    return f"[{host}]:{port}" if host and ":" in host else f"{host}:{port}"


def _dicts(tables: Tables, table: str) -> list[dict[str, Any]]:
    names = [field.name for field in fields(ROWS[table])]
    times = [field.name for field in fields(ROWS[table]) if str(field.type).startswith("float")]
    rows = [{name: getattr(row, name) for name in names} for row in getattr(tables, table)]
    for row in rows:
        row.update({name: round(row[name] * 1e6) for name in times if row[name] is not None})
    return rows


# The messages to read from captures, as options of `kwire.arrow.read` and of Spark's data source.
GROUP_OPTIONS = {**OPTIONS, "apis": ",".join(f"{api}{side}" for api in APIS for side in ("Request", "Response"))}
GROUP_ROWS = {"members": MemberRow, "partitions": PartitionRow}
_GROUP_TYPES = {**_TYPES, "int": pa.int64(), "bool": pa.bool_(), "tuple[int, ...]": pa.list_(pa.int32())}


def group_schema(table: str) -> Any:
    """Return the `pyarrow.Schema` of a table.

    >>> group_schema("members").field("rack").type, group_schema("partitions").field("lag").type
    (DataType(string), DataType(int64))
    """
    return pa.schema([(name, _GROUP_TYPES[kind]) for name, kind in _kinds(table).items()])


def _kinds(table: str) -> dict[str, str]:
    """Return the types of the fields of a row, without `| None`, as text."""
    hints = get_type_hints(GROUP_ROWS[table])
    texts = {
        name: kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind)
        for name, kind in hints.items()
    }
    return {name: text.removesuffix(" | None") for name, text in texts.items()}


# All tables in one: each row has a struct in the column of its table, and null in the others.
GROUP_UNION = pa.schema(
    [("cluster", pa.string()), ("table", pa.string())]
    + [(table, pa.struct(list(group_schema(table)))) for table in GROUP_ROWS]
)


def groups_of(batches: Iterable[Any], catalog: Catalog | None = None) -> dict[str, Any]:
    """Return the consumer groups of one cluster.

    Args:
        batches: record batches read with `GROUP_OPTIONS`, in any order.
        catalog: the specs of the messages; by default those of Kafka's releases.

    Returns:
        A `pyarrow.Table` for `members` and for `partitions`.
    """
    rows = (row[1:] for row in rows_in(in_order([*batches])))
    groups = _learnt(rows, catalog or catalog_for())
    return {table: pa.Table.from_pylist(_group_dicts(groups, table), group_schema(table)) for table in GROUP_ROWS}


def group_batches(batches: Iterable[Any], catalog: Catalog | None = None) -> Iterator[Any]:
    """Compute the consumer groups of clusters, one after the other.

    Args:
        batches: record batches with the columns `cluster` and `COLUMNS`, read with
            `GROUP_OPTIONS`; all rows of a cluster must be adjacent and in order.
        catalog: the specs of the messages; by default those of Kafka's releases.

    Yields:
        Record batches with the schema `GROUP_UNION`.
    """
    for cluster, rows in groupby(rows_in(batches), key=itemgetter(0)):
        groups = _learnt((row[1:] for row in rows), catalog or catalog_for())
        for table in GROUP_ROWS:
            yield from union_batches(GROUP_UNION, cluster, table, _group_dicts(groups, table))


def _learnt(rows: Iterable[tuple[Any, ...]], catalog: Catalog) -> GroupTracker:
    groups, numbers = GroupTracker(), dict[tuple[Any, ...], int]()
    for time, connection, direction, api_name, api_version, correlation_id, data, path in rows:
        if data is None or api_version is None:
            continue
        ends = ends_of(connection)
        number = numbers.setdefault((path, *ends), len(numbers))
        source = Source(path, None, None, None if time is None else time / 1e6, *ends, number, direction)
        result = read_row(Frame(bytes(data), source), api_name, direction, api_version, catalog)
        if isinstance(result, Request):
            client = Client(getattr(result.header, "client_id", None))
            groups.apply(replace(result, correlation_id=correlation_id, client=client))
        elif isinstance(result, Response):
            groups.apply(replace(result, correlation_id=correlation_id))
    return groups


def _group_dicts(groups: GroupTracker, table: str) -> list[dict[str, Any]]:
    found: Iterable[Any] = groups.history() if table == "members" else groups.partitions()
    times = [name for name, kind in _kinds(table).items() if kind == "float"]
    rows = [row._asdict() for row in found]
    for row in rows:
        row.update({name: round(row[name] * 1e6) for name in times if row[name] is not None})
    return rows
