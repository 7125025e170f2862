"""The door of the room: captures as record batches in a line, and nothing loaded before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from kwire import arrow
from kwire.arrow.read_options import BadOption
from kwire.arrow.rows.row_faults import MalformedFrame
from kwire.errors import MissingExtra
from tests.arrow.captures import FRAMES, PCAP, rows_of
from tests.conftest import ROOT


def test_captures_become_a_table() -> None:
    batches = list(arrow.read([str(FRAMES), str(PCAP)], max_records_per_batch=50))
    table = pa.Table.from_batches(batches, schema=arrow.schema(maxRecordsPerBatch=50))
    assert sorted(map(str, table.to_pylist())) == sorted(map(str, rows_of([FRAMES, PCAP])))
    assert max(batch.num_rows for batch in batches) <= 50


def test_paths_may_be_any_and_what_comes_is_a_reader() -> None:
    for paths in (FRAMES, str(FRAMES), [FRAMES], (str(FRAMES),)):
        reader = arrow.read(paths, body="json")
        assert isinstance(reader, pa.RecordBatchReader)
        assert reader.schema == arrow.schema(body="json")
        assert reader.read_all().num_rows == len(rows_of([FRAMES]))
    assert set(arrow.history(PCAP)) == set(arrow.history(str(PCAP)))


def test_where_nothing_matches_there_is_a_schema_and_no_row(tmp_path: Path) -> None:
    table = arrow.read(FRAMES, apis="AddRaftVoterRequest").read_all()
    assert (table.schema, table.num_rows) == (arrow.schema(apis="AddRaftVoterRequest"), 0)
    (tmp_path / "empty.bin").write_bytes(b"")
    assert arrow.read(tmp_path).read_all().num_rows == 0


def test_an_error_while_reading_is_raised_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "cut.bin").write_bytes(FRAMES.read_bytes()[:-3])
    with pytest.raises(MalformedFrame):
        arrow.read(tmp_path / "cut.bin", mode="FAILFAST").read_all()
    with pytest.raises(BadOption, match="no such file"):
        arrow.read(tmp_path / "none.bin")


def test_names_of_python_and_of_spark_are_the_same() -> None:
    assert arrow.schema(body="none", column_name_of_corrupt_record="x") == arrow.schema(
        body="none", columnNameOfCorruptRecord="x"
    )
    with pytest.raises(BadOption, match="did you mean"):
        arrow.schema(max_frame_byte=1)  # type: ignore[call-arg]


def test_it_loads_nothing_until_it_is_used() -> None:
    program = "import sys, kwire.arrow; print(sorted(set(sys.modules) & {'numpy', 'pyarrow', 'msgspec', 'construct'}))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, text=True)
    assert "numpy" not in done.stdout
    assert "pyarrow" not in done.stdout


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"kwire\[arrow\]"):
        arrow.schema()
