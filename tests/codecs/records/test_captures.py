"""Every log segment and snapshot that real brokers left, 0.8.2 to 4.4, read to its end."""

from __future__ import annotations

from pathlib import Path

from kwire.codecs.records import parse_records
from tests.codecs.records.cases import rebuilt, told
from tests.conftest import SHARED, each_of, needs_shared

RUNS = sorted((SHARED / "captures").glob("*.segments"))


@needs_shared
def test_there_are_segments_of_many_runs() -> None:
    assert len(RUNS) > 10
    assert sum(1 for run in RUNS for _ in run.rglob("*.log")) >= 135


@each_of("run", RUNS, ids=lambda run: run.stem)
def test_the_segments_of_a_run_are_read_to_the_end(run: Path) -> None:
    paths = [path for kind in ("*.log", "*.checkpoint") for path in run.rglob(kind)]
    paths = [path for path in paths if path.stem.strip("0123456789-") == ""]  # checkpoints of other kinds are text
    assert paths
    for path in paths:
        batches = parse_records(path.read_bytes())
        for batch in batches:
            records = list(batch.records())
            assert told(batch, records)["valid"]
            if batch.compression == "none":
                assert rebuilt(batch, records) == batch.data
        assert (batches.rest, batches.faults) == (b"", [])
