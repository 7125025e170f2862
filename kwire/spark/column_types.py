"""The types of columns in Spark and in Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from ..arrow.read_options import BadOption

_PAIRS: tuple[tuple[Any, Any], ...] = (
    (pa.bool_(), spark.BooleanType),
    (pa.int8(), spark.ByteType),
    (pa.int16(), spark.ShortType),
    (pa.int32(), spark.IntegerType),
    (pa.int64(), spark.LongType),
    (pa.float64(), spark.DoubleType),
    (pa.string(), spark.StringType),
    (pa.binary(), spark.BinaryType),
    (pa.timestamp("us", "UTC"), spark.TimestampType),
)
_TO_SPARK = {arrow: kind() for arrow, kind in _PAIRS}
_TO_ARROW = {kind: arrow for arrow, kind in _PAIRS}


def to_spark(type_: Any) -> Any:
    """Return the Spark type of an Arrow type or `pyarrow.Schema`; every field is nullable.

    >>> to_spark(pa.schema([("isr", pa.list_(pa.int32()))])).simpleString()
    'struct<isr:array<int>>'
    """
    if isinstance(type_, pa.Schema) or pa.types.is_struct(type_):
        return spark.StructType([spark.StructField(field.name, to_spark(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return spark.ArrayType(to_spark(type_.value_type))
    return _TO_SPARK[type_]


def to_arrow(type_: Any, name: str = "") -> Any:
    """Return the Arrow type of a Spark type; raise BadOption if no column of kwire has this type.

    >>> to_arrow(spark.ArrayType(spark.ShortType()))
    ListType(list<item: int16>)
    """
    if isinstance(type_, spark.StructType):
        return pa.struct(
            [(field.name, _convert_nullable(field.nullable, field.dataType, field.name)) for field in type_.fields]
        )
    if isinstance(type_, spark.ArrayType):
        return pa.list_(_convert_nullable(type_.containsNull, type_.elementType, name))
    arrow_type = _TO_ARROW.get(type(type_))
    if arrow_type is None:
        raise BadOption("schema", None, f"no column of kwire's is {type_.simpleString()}, as {name} is")
    return arrow_type


def schema_to_arrow(type_: Any) -> Any:
    """Return the `pyarrow.Schema` of a Spark schema; raise the exceptions of `to_arrow`."""
    return pa.schema(list(to_arrow(type_)))


def _convert_nullable(nullable: bool, type_: Any, name: str) -> Any:
    if not nullable:
        raise BadOption("schema", None, f"{name} may be null in any row; leave NOT NULL out")
    return to_arrow(type_, name)
