"""Kafka's protocol in Spark: a data source and column functions. Only this package imports pyspark, on first use.

kwire.spark.register(spark)
kwire.spark.read_captures(spark, "s3://taps/2026-11-*/", body="raw")
spark.read.format("kwire").option("apis", "UpdateMetadataRequest").option("body", "struct").load("captures/")
kwire.spark.stream_captures(spark, "captures/", maxBytesPerTrigger="1g")
df.select(kwire.spark.from_kwire("value", "OffsetCommitValue"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..codecs.columns.read_columns import need_libraries
from ..errors import MissingExtra

if TYPE_CHECKING:
    from . import cluster_history as cluster
    from .capture_stream import stream_captures as stream_captures
    from .captures import read_captures as read_captures
    from .functions import from_kwire as from_kwire
    from .functions import kwire_header as kwire_header
    from .functions import records as records
    from .functions import schema_of_kwire as schema_of_kwire
    from .functions import to_kwire as to_kwire
    from .registration import register as register

_MODULES = {
    "read_captures": "captures",
    "stream_captures": "capture_stream",
    "from_kwire": "functions",
    "kwire_header": "functions",
    "records": "functions",
    "register": "registration",
    "schema_of_kwire": "functions",
    "to_kwire": "functions",
}
__all__ = [
    "cluster",
    "from_kwire",
    "kwire_header",
    "read_captures",
    "records",
    "register",
    "schema_of_kwire",
    "stream_captures",
    "to_kwire",
]


if not TYPE_CHECKING:  # a type checker that reads this function would accept any name

    def __getattr__(name: str) -> Any:
        if name == "cluster":  # a module, not a name of one
            return _load("cluster_history")
        if name not in _MODULES:
            raise AttributeError(f"module 'kwire.spark' has no attribute {name!r}")
        return getattr(_load(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__


def _load(room: str) -> Any:
    from importlib import import_module

    need_libraries()
    try:
        return import_module(f".{room}", __name__)
    except ImportError:
        raise MissingExtra("Spark", "pyspark", "spark") from None
