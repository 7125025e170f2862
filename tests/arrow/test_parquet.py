"""Captures as a Parquet file: the rows of `read`, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire import arrow
from kwire.arrow import write_parquet
from kwire.arrow.parquet import PARQUET
from kwire.arrow.read_options import BadOption
from kwire.arrow.rows.row_faults import MalformedFrame
from tests.arrow.captures import FRAMES


def test_the_file_has_what_is_read(tmp_path: Path) -> None:
    written = write_parquet(str(FRAMES), tmp_path / "out", body="json")
    assert written == (tmp_path / "out" / PARQUET, 6, 0)
    assert pq.read_table(written.file) == pa.Table.from_batches(arrow.read(str(FRAMES), body="json"))
    assert [file.name for file in (tmp_path / "out").iterdir()] == [PARQUET]


def test_what_is_not_decoded_is_counted(tmp_path: Path) -> None:
    (tmp_path / "bad.bin").write_bytes(FRAMES.read_bytes() + bytes.fromhex("00000008 7fff 0000 00000001"))
    written = write_parquet(str(tmp_path / "bad.bin"), tmp_path / "out", dump_format="frames")
    assert (written.frames, written.corrupt) == (7, 1)


def test_nothing_is_left_of_what_ends_in_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadOption):
        write_parquet("no such file", tmp_path / "out")
    (tmp_path / "bad.bin").write_bytes(FRAMES.read_bytes() + b"\0\0\0\4\x7f\xff\0\0")
    with pytest.raises(MalformedFrame):
        write_parquet(str(tmp_path / "bad.bin"), tmp_path / "out", mode="FAILFAST", dump_format="frames")
    assert list((tmp_path / "out").glob("*")) == []


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / PARQUET).write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        write_parquet(str(FRAMES), tmp_path)
    assert (tmp_path / PARQUET).read_bytes() == b"mine"
