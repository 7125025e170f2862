"""What people would write instead, over a table of bodies: a Python UDF around kafka-python that gives JSON, and a Java
UDF over Kafka's own class that gives typed rows. kwire gives the same rows by `from_kwire`, or straight from a capture.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import functions as sql
from pyspark.sql import types
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, ShortType, StringType, StructField, StructType

from benchmarks.codec.other_languages import PROGRAMS, Program, built
from benchmarks.spark.inputs import VERSION
from kwire.spark import from_kwire

JARS = Path(types.__file__).parents[1] / "jars/*"
UDF = Program(
    "Java UDF over kafka-clients 3.9.2",
    ("mvn", "javac", "jar"),
    "java",
    [
        *(command for command in PROGRAMS["java"].build if command[0] == "mvn"),
        ["javac", "-nowarn", "-cp", f"lib/*:{JARS}", "MetadataTopics.java"],
        ["jar", "cf", "lib/udf.jar", "MetadataTopics.class"],
    ],
    [],
)
PARTITION = ["error_code", "partition_index", "leader_id", "leader_epoch"]
LISTS = ["replica_nodes", "isr_nodes", "offline_replicas"]
FIELDS = ["topics.name", "topics.topic_id", *(f"topics.partitions.{name}" for name in PARTITION + LISTS)]


def jars() -> str:
    """Return what the Java UDF needs, as Spark takes it; raises LookupError, as `built`."""
    return ",".join(str(jar) for jar in sorted((built("spark", UDF) / "lib").glob("*.jar")))


def topics_type() -> Any:
    numbers = [StructField(name, ShortType() if name == "error_code" else IntegerType()) for name in PARTITION]
    lists = [StructField(name, ArrayType(IntegerType())) for name in LISTS]
    partitions = StructField("partitions", ArrayType(StructType([*numbers, *lists])))
    topic = StructType([StructField("name", StringType()), StructField("topic_id", BinaryType()), partitions])
    return ArrayType(topic)


def rows_of(df: Any, topics: Any) -> Any:
    """Return a row a partition, of a column of topics."""
    found = df.select(sql.explode(topics).alias("t")).select(
        "t.name", "t.topic_id", sql.explode("t.partitions").alias("p")
    )
    return found.select("name", "topic_id", "p.*")


def by_java(spark: Any, table: Path) -> Any:
    spark.udf.registerJavaFunction("metadata_topics", "MetadataTopics", topics_type())
    return rows_of(spark.read.parquet(str(table)), sql.expr("metadata_topics(value)"))


def by_kwire(spark: Any, table: Path) -> Any:
    bodies = spark.read.parquet(str(table))
    message = from_kwire("value", "MetadataResponse", version=VERSION, fields=FIELDS)
    return rows_of(bodies.select(message.alias("m")), sql.col("m.topics"))


def from_capture(spark: Any, capture: Path) -> Any:
    """The same rows by the data source, of the capture that the table was made of."""
    schema = types.StructType(
        [
            StructField("message", StructType([StructField("topics", topics_type())])),
            StructField("_corrupt_record", BinaryType()),
        ]
    )
    reader = spark.read.format("kwire").schema(schema).options(apis="MetadataResponse", body="struct")
    return rows_of(reader.load(str(capture)), sql.col("message.topics"))


def by_kafka_python(spark: Any, table: Path) -> Any:
    return spark.read.parquet(str(table)).select(sql.udf(_json, "string")("value").alias("json"))


def _json(body: Any) -> str:
    from kafka.protocol.metadata import MetadataResponse

    message = MetadataResponse.decode(bytes(body), version=VERSION, header=False)
    return json.dumps(message.to_dict(), default=str)


def assert_alike(*frames: Any) -> None:
    """See that all have the same rows."""
    sums = {df.select(sql.sum(sql.xxhash64("*").cast("decimal(38)")), sql.count("*")).first() for df in frames}
    assert len(sums) == 1 and next(iter(sums))[1] > 0, sums
