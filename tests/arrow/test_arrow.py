"""The door of the room: captures as record batches in a line, and nothing loaded before."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from kwire import arrow
from kwire.arrow.errors import BadOption
from kwire.errors import MissingExtra
from tests.arrow.captures import FRAMES, PCAP, rows_of
from tests.conftest import ROOT


def test_captures_become_a_table() -> None:
    batches = list(arrow.read([str(FRAMES), str(PCAP)], max_records_per_batch=50))
    table = pa.Table.from_batches(batches, schema=arrow.schema(maxRecordsPerBatch=50))
    assert sorted(map(str, table.to_pylist())) == sorted(map(str, rows_of([FRAMES, PCAP])))
    assert max(batch.num_rows for batch in batches) <= 50


def test_names_of_python_and_of_spark_are_the_same() -> None:
    assert arrow.schema(body="none", column_name_of_corrupt_record="x") == arrow.schema(
        body="none", columnNameOfCorruptRecord="x"
    )
    with pytest.raises(BadOption, match="did you mean"):
        arrow.schema(max_frame_byte=1)


def test_it_loads_nothing_until_it_is_used() -> None:
    program = "import sys, kwire.arrow; print(sorted(set(sys.modules) & {'numpy', 'pyarrow', 'msgspec', 'construct'}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, text=True)
    assert "numpy" not in done.stdout
    assert "pyarrow" not in done.stdout


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"kwire\[arrow\]"):
        arrow.schema()
