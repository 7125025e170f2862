"""A Spark job with mistakes in names, arguments and options: a type checker finds each, and nothing else."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

import kwire.arrow
import kwire.spark
from kwire.spark import read_captures, stream_captures

spark = SparkSession.builder.getOrCreate()
kwire.spark.register(spark)
kwire.spark.register()  # mistake
kwire.spark.register("local[2]")  # mistake
kwire.spark.registr(spark)  # mistake

frames: DataFrame = read_captures(spark, ["a", "b"], apis=["Fetch"], body="struct", maxPartitionBytes="64m")
arriving: DataFrame = stream_captures(spark, "captures/", tail_timeout=60, maxFilesPerTrigger=100)
read_captures(spark)  # mistake
read_captures("captures/", spark)  # mistake
read_captures(spark, "a", bodyy="struct")  # mistake
read_captures(spark, "a", apis=3)  # mistake
read_captures(spark, "a", partitions="8")  # mistake
read_captures(spark, "a", max_partition_bytes=0.5)  # mistake
stream_captures(spark, None)  # mistake
stream_captures(spark, "a", maxBytesPerTriger="1g")  # mistake
stream_captures(spark, "a", fail_on_data_loss=1.5)  # mistake

column = kwire.spark.from_kwire("value", "OffsetCommitValue", version=3, fields=["offset"])
frames.select(column, kwire.spark.kwire_header("message"), kwire.spark.to_kwire("value", "Metadata", "request", 4))
kwire.spark.from_kwire("value")  # mistake
kwire.spark.from_kwire("value", "OffsetCommitValue", verson=3)  # mistake
kwire.spark.from_kwire(b"value", "OffsetCommitValue")  # mistake
kwire.spark.to_kwire("value", "Metadata", "both")  # mistake
kwire.spark.schema_of_kwire(3)  # mistake
kwire.spark.records("frames")  # mistake
print(kwire.spark.records(frames).count(), arriving.isStreaming)

print(kwire.arrow.read("a", direction="request", recursive_file_lookup=True).read_all())
kwire.arrow.read("a", direction=1)  # mistake
kwire.arrow.history("a", profil="KIP-112")  # mistake
kwire.arrow.write_parquet("a")  # mistake
