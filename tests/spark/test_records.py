"""Records as rows through Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kwire.arrow.read_options import BadOption
from kwire.spark import records
from tests.arrow.binary_columns.test_record_rows import BATCH, fetched, produce, rows_in
from tests.arrow.captures import LOG, write


def test_rows_are_those_of_arrow(spark: Any, tmp_path: Path) -> None:
    path = write(tmp_path, b"".join([produce(BATCH), *fetched(BATCH), produce(b"no batch at all, none")]))
    df = records(spark.read.format("kwire").option("body", "raw").load([str(path), str(LOG)]))
    rows = df.toArrow().to_pylist()
    assert sorted(map(str, rows)) == sorted(map(str, rows_in(path) + rows_in(LOG)))
    assert df.where("_error is not null").count() == 1
    counts = df.where("record is not null").groupBy("record.topic").count().collect()
    assert {row[0] for row in counts} == {"t", None, "__consumer_offsets"}


def test_frames_must_be_raw(spark: Any) -> None:
    with pytest.raises(BadOption, match="body=raw"):
        records(spark.read.format("kwire").load(str(LOG)))
