"""Kafka's protocol in Spark: a data source and column functions. Only this package imports pyspark, on first use.

kwire.spark.register(spark)
kwire.spark.read_captures(spark, "s3://taps/2026-11-*/", body="raw")
spark.read.format("kwire").option("apis", "UpdateMetadataRequest").option("body", "struct").load("captures/")
kwire.spark.stream_captures(spark, "captures/", maxBytesPerTrigger="1g")
df.select(kwire.spark.from_kwire("value", "OffsetCommitValue"))
"""

from ..runtime.lazy_names import attach_stub
from .required_libraries import load_with_libraries

__getattr__, __dir__ = attach_stub(__name__, load=load_with_libraries)  # the names are in `__init__.pyi`
