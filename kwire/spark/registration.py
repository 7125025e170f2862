"""Registers the data source `format("kwire")` and the SQL functions in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from .functions import register_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register the data source `format("kwire")` and the SQL functions in a session.

    Spark discovers the source automatically where kwire is installed, but not where it is shipped with `--py-files`.
    Spark 3.5 has no sources in Python: there, `read_captures` reads captures. The functions are `kwire_decode`,
    `kwire_encode` and `kwire_header`; see `kwire.spark.functions.register_functions`.

    Args:
        spark: the session, which may be a Spark Connect session.

    Raises:
        MissingExtra: pyspark or pyarrow is not installed.
    """
    if hasattr(spark, "dataSource"):
        from .data_source import KwireSource

        try:
            spark.dataSource.register(KwireSource)
        except AnalysisException as error:  # Spark 4.0 has discovered it
            if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
                raise
    register_functions(spark)
