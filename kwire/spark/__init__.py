"""Kafka's protocol in Spark: a data source, column functions. The one room that imports pyspark, when it is used.

kwire.spark.register(spark)
spark.read.format("kwire").option("apis", "UpdateMetadataRequest").option("body", "struct").load("captures/")
"""

from __future__ import annotations

from typing import Any

from ..columnar import need_libraries
from ..errors import MissingExtra

__all__ = ["register"]


def register(spark: Any) -> None:
    """Let a session read `format("kwire")`.

    Where kwire is installed, as against shipped with `--py-files`, Spark finds that by itself.

    Args:
        spark: the session, of Spark Connect too.

    Raises:
        MissingExtra: pyspark or pyarrow are not installed.
    """
    need_libraries()
    try:
        from .source import KwireSource
    except ImportError:
        raise MissingExtra("Spark", "pyspark", "spark") from None
    spark.dataSource.register(KwireSource)
