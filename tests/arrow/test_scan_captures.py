"""`kwire.arrow.scan` gives the rows of `read` in the same order, with one process and with several."""

from __future__ import annotations

import gzip
import pickle
from collections import Counter
from copy import copy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kwire.arrow
from kwire.arrow.batch_reader import BatchReader
from kwire.arrow.find_files import find_files
from kwire.arrow.ranges.range_tasks import RowChoice, plan_tasks, read_file, read_range
from kwire.arrow.read_options import BadOption, Options
from kwire.arrow.rows.row_faults import MalformedFrame
from kwire.errors import MissingExtra
from tests.capture.damaged_packets import damaged_capture
from tests.conftest import ROOT, SHARED, each_of, lacking
from tests.seeds import TRIES, named, seeded

CAPTURES = sorted((SHARED / "captures").glob("*.pcap*"))
PCAP = ROOT / "fixtures/dumps/kafka-3.9-zk.pcap"


def rows_of_tasks(path: Path, size: int, options: Options, folder: Path) -> Any:
    """Return the rows of the tasks that a scan gives to its workers, which are called here instead."""
    reading, chosen = BatchReader(options), RowChoice()
    tables = []
    for number, task in enumerate(plan_tasks(find_files([str(path)], options), reading, chosen, 2, size)):
        file = folder / str(number)
        with file.open("wb") as stream:
            task.function(*task.arguments, stream)
        tables.append(pa.ipc.open_stream(file.read_bytes()).read_all())
    return pa.concat_tables(tables)


@each_of("path", CAPTURES, most=8, ids=[path.name for path in CAPTURES])
@pytest.mark.parametrize("body", ["json", "none"])
def test_ranges_give_the_rows_of_the_whole(path: Path, body: str, tmp_path: Path) -> None:
    options = Options(body=body, metadata=True)
    size = path.stat().st_size // 5
    assert rows_of_tasks(path, size, options, tmp_path).equals(
        kwire.arrow.read(path, body=body, metadata=True).read_all()
    )


@pytest.mark.parametrize("zookeeper", [True, False])
def test_ranges_of_lossy_captures_give_the_rows_of_the_whole(zookeeper: bool, tmp_path: Path) -> None:
    rng = seeded(f"rows of ranges {zookeeper}")
    for number in range(TRIES):
        path, size = tmp_path / "lossy.pcap", rng.randrange(500, 20_000)
        path.write_bytes(damaged_capture(PCAP.read_bytes(), rng))
        with named((number, size)):
            expected = kwire.arrow.read(path, zookeeper=zookeeper).read_all()
            assert rows_of_tasks(path, size, Options(zookeeper=zookeeper), tmp_path).equals(expected)


def test_other_files_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a.pcap.gz").write_bytes(gzip.compress(PCAP.read_bytes()))
    (tmp_path / "b.bin").write_bytes((ROOT / "fixtures/dumps/kafka-3.9-zk.bin").read_bytes())
    (tmp_path / "c.pcap").write_bytes(PCAP.read_bytes())
    (tmp_path / "d.txt").write_bytes(b"no capture")
    (tmp_path / "e.pcap").write_bytes(PCAP.read_bytes()[:30])
    (tmp_path / "f.pcap").write_bytes(other_link(PCAP.read_bytes()))
    options, expected = Options(), kwire.arrow.read(tmp_path).read_all()
    tasks = list(plan_tasks(find_files([str(tmp_path)], options), BatchReader(options), RowChoice(), 2, 4000))
    assert [task.function for task in tasks if task.function is not read_range] == [read_file] * 5
    assert rows_of_tasks(tmp_path, 4000, options, tmp_path / "..").equals(expected)


def other_link(data: bytes) -> bytes:
    """Return a capture of a link type that is not read."""
    return data[:20] + b"\xaa\0\0\0" + data[24:]


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small files be divided."""
    monkeypatch.setattr("kwire.arrow.ranges.range_tasks.LEAST_RANGE", 10_000)


@pytest.mark.ci  # starts two processes, each of which imports pyarrow
@pytest.mark.usefixtures("large")
def test_workers_give_the_rows_in_order() -> None:
    scan = kwire.arrow.scan([PCAP, ROOT / "fixtures/dumps/kafka-3.9-zk.bin", PCAP], threads=2)
    expected = kwire.arrow.read([PCAP, ROOT / "fixtures/dumps/kafka-3.9-zk.bin", PCAP]).read_all()
    assert scan.read_all().equals(expected)
    assert pa.table(scan).equals(expected)
    with pytest.raises(MalformedFrame) as raised:
        broken(threads=2).read_all()
    assert "offset=0, api=ApiVersions, version=4" in str(raised.value)


def broken(threads: int) -> kwire.arrow.CaptureScan:
    return kwire.arrow.scan(PCAP, mode="FAILFAST", release="0.9", threads=threads)


def test_a_filter_sees_columns_that_are_not_selected() -> None:
    from pyarrow.compute import field

    chosen = kwire.arrow.scan(PCAP, columns=["offset"], filter=field("api_name") == "Metadata", body="none")
    assert chosen.schema.names == ["offset", "_corrupt_record", "_error"]
    everything = kwire.arrow.read(PCAP, body="none").read_all()
    expected = everything.filter(field("api_name") == "Metadata").select(chosen.schema.names)
    assert chosen.read_all().equals(expected) and 0 < chosen.count_rows() < everything.num_rows
    assert kwire.arrow.scan(PCAP).read_all().equals(kwire.arrow.read(PCAP).read_all())


def test_mistakes_are_named() -> None:
    with pytest.raises(BadOption, match="nosuch"):
        kwire.arrow.scan(PCAP, no_such=1)  # type: ignore[call-arg]
    with pytest.raises(BadOption, match="nowhere"):
        kwire.arrow.scan("nowhere.pcap")
    with pytest.raises(ValueError, match="threads=0"):
        kwire.arrow.scan(PCAP, threads=0)


def test_fragments_are_the_scan_wherever_they_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes((ROOT / "fixtures/dumps/kafka-3.9-zk.bin").read_bytes())
    (tmp_path / "b.pcap").write_bytes(PCAP.read_bytes())
    from pyarrow.compute import field

    scan = kwire.arrow.scan(tmp_path, columns=["offset", "message"], filter=field("direction") == "response")
    fragments = pickle.loads(pickle.dumps(list(scan.fragments(9_000))))
    assert [Path(fragment.path).name for fragment in fragments] == ["a.bin", *["b.pcap"] * (len(fragments) - 1)]
    assert sum(fragment.weight for fragment in fragments[1:]) == PCAP.stat().st_size
    assert len(fragments) > 4
    assert pa.concat_tables(fragment.read() for fragment in fragments).equals(scan.read_all())


def test_polars_reads_what_a_query_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("polars") is None:
        lacking("polars", "KWIRE_SPARK")
    import polars

    read = list[tuple[str, ...]]()
    select = kwire.arrow.CaptureScan.select

    def noting(scan: kwire.arrow.CaptureScan, columns: Any) -> kwire.arrow.CaptureScan:
        read.append(tuple(columns))
        return select(scan, columns)

    monkeypatch.setattr(kwire.arrow.CaptureScan, "select", noting)
    lazy = kwire.arrow.scan(PCAP).lazy()
    requests = lazy.filter(polars.col("direction") == "request").group_by("api_name").len().collect()
    everything = kwire.arrow.read(PCAP).read_all().to_pylist()
    assert dict(requests.rows()) == Counter(row["api_name"] for row in everything if row["direction"] == "request")
    assert set(read[0]) == {"api_name", "direction"}
    assert lazy.select("message", "offset").head(3).collect().rows() == [
        (row["message"], row["offset"]) for row in everything[:3]
    ]
    assert lazy.collect().height == len(everything)
    from pyarrow.compute import field

    filtered = kwire.arrow.scan(PCAP, columns=["offset"], filter=field("direction") == "request").lazy()
    assert filtered.select("offset").collect()["offset"].to_list() == [
        row["offset"] for row in everything if row["direction"] == "request"
    ]


def test_what_a_lazy_frame_needs_is_named() -> None:
    if find_spec("polars") is not None:
        pytest.skip("polars is installed")
    with pytest.raises(MissingExtra, match=r"lazy needs the library polars; pip install 'kwire\[polars\]'"):
        kwire.arrow.scan(PCAP).lazy()


def test_what_a_scan_does_not_have_is_where_it_says() -> None:
    rows = kwire.arrow.scan(PCAP)
    with pytest.raises(AttributeError, match=r"no 'group_by'; lazy\(\) returns a polars.LazyFrame"):
        rows.group_by  # type: ignore[attr-defined] # noqa: B018
    assert not hasattr(rows, "collect")
    assert copy(rows).threads == rows.threads
