"""Types go to Spark and back, those of every message."""

from __future__ import annotations

import pytest
from pyspark.sql import types as spark

import kwire
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.read_options import BadOption, Options
from kwire.schema.catalog import catalog_for
from kwire.spark.column_types import schema_to_arrow, to_spark


def test_every_message_has_types_of_spark() -> None:
    for name in catalog_for().names():
        schema = kwire.arrow_schema(name)
        assert schema_to_arrow(to_spark(schema)).equals(schema), name
    schema = BatchReader(Options()).schema
    assert schema_to_arrow(to_spark(schema)).equals(schema)


def test_what_no_column_is_is_refused() -> None:
    with pytest.raises(BadOption, match="no column of kwire's is date, as day is"):
        schema_to_arrow(spark.StructType([spark.StructField("day", spark.DateType())]))
    with pytest.raises(BadOption, match="leave NOT NULL out"):
        schema_to_arrow(spark.StructType([spark.StructField("path", spark.StringType(), nullable=False)]))
