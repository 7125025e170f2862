"""Column functions for any query: decode bytes to structs, encode structs, and extract the records of frames as
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from ..arrow.binary_columns.decode_cells import Cells, body_text, cell_reader, portions
from ..arrow.binary_columns.encode_cells import CellWriter
from ..arrow.binary_columns.header_column import TYPE, header_column
from ..arrow.binary_columns.record_rows import RecordReader
from ..arrow.read_options import BadOption
from ..codecs.message_codec import Codec, codec_in
from ..codecs.records import LIMIT
from ..errors import MissingExtra, suggestion
from ..protocol.headers.apis import Apis
from ..schema.catalog import catalog_for
from .column_types import schema_to_arrow, to_spark

Direction = Literal["request", "response"]
MODES = "PERMISSIVE", "FAILFAST"
TRUTHS = {"framed": "framed", "includeerrors": "include_errors"}
TEXTS = {"profile": "profile", "release": "release"}
HAS_ARROW_FUNCTIONS = hasattr(sql, "arrow_udf")  # since Spark 4.1
OPTIONS = ["mode", "framed", "includeErrors", *TEXTS]


def from_kwire(
    data: Column | str,
    api: str,
    direction: Direction | None = None,
    version: int | str | Column | None = None,
    options: Mapping[str, Any] | None = None,
    *,
    fields: Sequence[str] | None = None,
) -> Column:
    """Decode a column of messages.

    Args:
        data: the column, or its name: binary, each cell the body of a message. Records of Kafka's internal topics and
            the messages of a group's protocol (`OffsetCommitValue`, `ConsumerProtocolSubscription`) include their
            version prefix.
        api: the message, such as `MetadataResponse`; or its api, such as `Metadata`, with a direction.
        direction: `request` or `response`.
        version: a number, a column or its name; None if the cells contain it.
        options: `mode`: PERMISSIVE (null for a cell that cannot be decoded) or FAILFAST; `includeErrors`: add the
            fields `_corrupt_record` and `_error`; `framed`: cells include size and header, as in the column `message`
            with body=raw; `profile`, `release`: the specs.
        fields: names of the fields to decode, with dots for fields of structs. None means all.

    Returns:
        A column of structs with the fields of all versions; fields that a version does not have are null. The result is
        null for null, and for a record of another type in the same topic.

    Raises:
        UnknownMessage: a message or field does not exist.
        BadOption: an option is unknown, or the version is missing.
    """
    cells = _cells(api, direction, options, None if fields is None else tuple(fields))
    reader = cell_reader(cells)
    if version is None and not reader.has_version:
        hint = "version=9, or a column; frames of requests contain it: options={'framed': True}"
        raise BadOption("version", None, f"cells of {api} do not contain their version", hint)
    if version is None or isinstance(version, int):
        return _apply(_of_version(cells, version), reader.type, _column(data))
    return _apply(_of_versions(cells), reader.type, _column(data), _version(version))


def _of_version(cells: Cells, version: int | None) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Return the function that decodes batches of one version; with None, cells contain their version."""

    def decode(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for batch in batches:
            yield from cell_reader(cells).read(batch, version)

    return decode


def _of_versions(cells: Cells) -> Callable[[Iterator[tuple[pa.Array, pa.Array]]], Iterator[pa.Array]]:
    """Return the function that decodes batches with a column of versions."""

    def decode(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        for batch, versions in batches:
            yield from cell_reader(cells).read(batch, versions)

    return decode


def to_kwire(
    data: Column | str,
    api: str,
    direction: Direction | None = None,
    version: int | str | Column = 0,
    options: Mapping[str, Any] | None = None,
) -> Column:
    """Encode a column of structs to bodies of messages.

    Args:
        data: the column, or its name: structs with the fields of the message, as from `from_kwire`. A missing field
            gets its default.
        api, direction, version: as for `from_kwire`.
        options: `mode`: FAILFAST (the job fails if a value cannot be encoded) or PERMISSIVE (null); `profile`,
            `release`: the specs.

    Returns:
        A binary column of bodies, without size and header; null for null.

    Raises:
        MissingExtra: Spark is older than 4.1.
        BadOption, UnknownMessage: see `from_kwire`.
    """
    if not HAS_ARROW_FUNCTIONS:
        raise MissingExtra("to_kwire", "pyspark 4.1", "spark")
    cells = _cells(api, direction, {"mode": "FAILFAST", **(options or {})}, None)
    _writer(cells)

    def encode(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        for structs, versions in batches:
            yield from _writer(cells).write(structs, versions)

    return sql.arrow_udf(encode, "binary")(_column(data), _version(version))


def kwire_header(
    data: Column | str, direction: Direction = "request", options: Mapping[str, Any] | None = None
) -> Column:
    """Read the headers of a column of frames.

    Args:
        data: the column, or its name: frames with their size, as in the column `message` with body=raw.
        direction: `request`; or `response`, whose headers have only the correlation id.
        options: `profile`, `release`: the specs.

    Returns:
        A column of structs: `length`, `api_key`, `api_name`, `api_version`, `correlation_id`, `client_id`; null for an
            incomplete frame.
    """
    if direction not in ("request", "response"):
        raise BadOption("direction", direction, "it is request or response")
    is_request = direction == "request"
    cells = _cells("Metadata", direction, options, None)
    profile, release = cells.profile, cells.release

    def read(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for batch in batches:
            for start, stop in portions(batch):
                yield header_column(batch.slice(start, stop - start), _apis(profile, release), is_request)

    return _apply(read, TYPE, _column(data))


def _apply(function: Callable[[Iterator[Any]], Iterator[pa.Array]], type_: pa.DataType, *columns: Column) -> Column:
    """Apply a function of batches to columns; before Spark 4.1, which has none, to one cell after the other.

    Args:
        function: takes batches of the first column, or tuples of batches if there are several columns.
        type_: the type of its results.
        columns: binary cells, and their versions.
    """
    if HAS_ARROW_FUNCTIONS:
        return sql.arrow_udf(function, to_spark(type_))(*columns)

    def apply(*cells: Any) -> Any:
        arrays = tuple(pa.array([cell], kind) for cell, kind in zip(cells, (pa.binary(), pa.int32()), strict=False))
        (result,) = function(iter([arrays if len(arrays) > 1 else arrays[0]]))
        return result[0].as_py()

    return sql.udf(apply, to_spark(type_))(*columns)


def schema_of_kwire(api: str, direction: Direction | None = None, options: Mapping[str, Any] | None = None) -> Column:
    """Return a column with the schema of the result of `from_kwire` as text, like Spark's `schema_of_json`."""
    return sql.lit(to_spark(cell_reader(_cells(api, direction, options, None)).type).simpleString())


def register_functions(spark: SparkSession) -> None:
    """Register `kwire_decode`, `kwire_encode` and `kwire_header` for SQL; called by `kwire.spark.register`.

    All arguments may be columns. `kwire_decode(data, api[, version[, framed]])` returns JSON text, null for a cell that
    cannot be decoded; `kwire_encode(json, api, version)` returns bodies; `kwire_header(frame[, direction])` returns the
    struct of `kwire_header`. For the arguments see `from_kwire`.
    """
    spark.udf.register("kwire_decode", _decode_cell, "string")
    spark.udf.register("kwire_encode", _encode_cell, "binary")
    spark.udf.register("kwire_header", _read_header, to_spark(TYPE))


def _decode_cell(data: bytes | None, api: str | None, version: int | None = None, framed: bool = False) -> str | None:
    if data is None or api is None:
        return None
    return body_text(Cells(name=api, framed=framed), bytes(data), version)


def _encode_cell(text: str | None, api: str | None, version: int | None) -> bytes | None:
    if text is None or api is None or version is None:
        return None
    codec = _codec(api, version)
    return codec.encode(codec.from_json(msgspec.json.decode(text), defaults=True))


def _read_header(frame: bytes | None, direction: str | None = "request") -> dict[str, Any] | None:
    if direction not in ("request", "response"):
        return None
    struct: dict[str, Any] | None
    (struct,) = header_column(pa.array([frame], pa.binary()), _apis("", ""), direction == "request").to_pylist()
    return struct


@lru_cache(maxsize=64)
def _codec(api: str, version: int) -> Codec[Any]:
    return codec_in(catalog_for(None, None), api, version)


def _column(data: Any) -> Column:
    return data if isinstance(data, Column) else sql.col(data)


def _version(version: int | str | Column) -> Column:
    return (sql.lit(version) if isinstance(version, int) else _column(version)).cast("int")


def _cells(api: str, direction: str | None, options: Mapping[str, Any] | None, fields: tuple[str, ...] | None) -> Cells:
    values: dict[str, Any] = {}
    for name, value in (options or {}).items():
        known = name.lower()
        if known == "mode":
            values["mode"] = str(value).upper()
            if values["mode"] not in MODES:
                raise BadOption(name, value, "[PARSE_MODE_UNSUPPORTED] it is none of the modes", ", ".join(MODES))
        elif known in TRUTHS:
            values[TRUTHS[known]] = str(value).lower() == "true"
        elif known in TEXTS:
            values[TEXTS[known]] = str(value)
        else:
            raise BadOption(name, value, "there is no such option", suggestion(name, OPTIONS))
    return Cells(name=api, direction=direction, fields=fields, **values)


@lru_cache(maxsize=16)
def _writer(cells: Cells) -> CellWriter:
    return CellWriter(cells)


@lru_cache(maxsize=4)
def _apis(profile: str, release: str) -> Apis:
    return Apis(catalog_for(profile or None, release or None))


def records(df: DataFrame, limit: int = LIMIT, registry: str = "") -> DataFrame:
    """Return the records of Produce requests, Fetch responses and logs as rows.

    Args:
        df: frames from `format("kwire")` with body=raw. The columns `message`, `direction`, `api_key` and `api_version`
            are required; `path` determines the topic of a log, by its folder.
        limit: the maximum decompressed size of the records of one batch, in bytes.
        registry: the URL of a schema registry, or a folder of schemas that each executor has: `record` then has
            `key_json` and `value_json`, with `key_schema`, `key_schema_error` and so on, as `kwire.arrow.records`.

    Returns:
        A DataFrame with the other columns of the frames; the struct `record`: topic, topic_id, partition, offset,
        timestamp, key, value, headers, producer and so on; and `_corrupt_record` and `_error` for records that cannot
        be read. A batch with a wrong checksum has both records and errors.

    Raises:
        BadOption: a column is missing.
    """
    schema = schema_to_arrow(df.schema)
    reader = _reader(schema, limit, registry)

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _reader(schema, limit, registry).read(batches)

    return df.mapInArrow(read, to_spark(reader.schema))


@lru_cache(maxsize=4)
def _reader(schema: Any, limit: int, registry: str) -> RecordReader:
    return RecordReader(schema, limit, registry)
