"""Registers the data source `format("kwire")` and the SQL functions in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .data_source import KwireSource
from .functions import register_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the data source `format("kwire")` and the SQL functions in a session.

    Spark discovers the source automatically where kwire is installed, but not where it is shipped with `--py-files`.
    The functions are `kwire_decode`, `kwire_encode` and `kwire_header`; see
    `kwire.spark.functions.register_functions`.

    Args:
        spark: the session, which may be a Spark Connect session.

    Raises:
        MissingExtra: pyspark or pyarrow is not installed.
    """
    spark.dataSource.register(KwireSource)
    register_functions(spark)
