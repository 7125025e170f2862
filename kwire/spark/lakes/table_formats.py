"""The formats of tables in a lake, and what Spark needs to write them."""

from __future__ import annotations

from pyspark import __version__ as VERSION  # noqa: N812

from ...arrow.read_options import BadOption
from .lake import PARQUET, local_folder

DELTA, ICEBERG = "delta", "iceberg"
CATALOG = "kwire_lake"  # the name of Iceberg's catalog in the session
# The newest ones in November 2026, by the release of Spark for which they were compiled.
RUNTIMES = {
    DELTA: {
        "3.5": "io.delta:delta-spark_2.12:3.3.2",
        "4.0": "io.delta:delta-spark_4.0_2.13:4.4.0",
        "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
        "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
    },
    ICEBERG: {
        "3.5": "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
        "4.0": "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
        "4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    },
}
PACKAGES = "spark.jars.packages"


def format_settings(table_format: str, out: str, version: str = VERSION) -> dict[str, str]:
    """Return the settings of a session that writes tables of a format; Spark downloads its runtime from Maven Central.

    Args:
        table_format: `parquet`, `delta` or `iceberg`.
        out: the folder of the tables, or its URI.
        version: the version of Spark.

    Raises:
        BadOption: there is no runtime for this Spark.

    >>> format_settings("delta", "lake", "4.1.4")["spark.jars.packages"]
    'io.delta:delta-spark_4.1_2.13:4.4.0'
    """
    if table_format == PARQUET:
        return {}
    runtimes = RUNTIMES[table_format]
    release = ".".join(version.split(".")[:2])
    if release not in runtimes:
        hint = f"install pyspark {', '.join(runtimes)}, or write parquet"
        raise BadOption("format", table_format, f"there is no runtime of {table_format} for Spark {release}", hint)
    if table_format == DELTA:
        return {
            PACKAGES: runtimes[release],
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }
    return {
        PACKAGES: runtimes[release],
        f"spark.sql.catalog.{CATALOG}": "org.apache.iceberg.spark.SparkCatalog",
        f"spark.sql.catalog.{CATALOG}.type": "hadoop",
        f"spark.sql.catalog.{CATALOG}.warehouse": str(local_folder(out) or out),
    }
