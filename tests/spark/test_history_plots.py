"""The history drawn: files that hold pictures, of numbers that are right."""

from __future__ import annotations

import struct
import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import kwire.spark
from kwire.errors import MissingExtra
from tests.arrow.captures import PCAP
from tests.conftest import lacking
from tests.spark.test_data_source import load


@pytest.fixture(scope="session")
def plots(spark: Any) -> Any:
    from kwire.spark import history_plots

    return history_plots


def test_changes_add_up(plots: Any) -> None:
    line = plots._line("x", [(0, 2), (1_500_000, -1), (3_000_000, 4)])
    start = datetime(1970, 1, 1)
    assert line.counts == [2, 1, 5]
    assert [(time - start).total_seconds() for time in line.times] == [0, 1.5, 3]


def test_no_area_hides_another(plots: Any) -> None:
    if find_spec("matplotlib") is None:
        lacking("matplotlib", "KWIRE_SPARK")
    pyplot = plots.need_matplotlib()
    figure, axes = pyplot.subplots()
    moments = [datetime(2026, 11, day) for day in (1, 2, 3, 4)]
    lines = [plots.PlotLine("low", moments[:1], [3]), plots.PlotLine("high", moments[1:3], [5, 0])]
    plots._panel(axes, "title", [(line, "red") for line in lines], moments[0], moments[3])
    edges = [area.get_datalim(axes.transData).extents for area in axes.collections]
    assert [(low, high) for _, low, _, high in edges] == [(0, 3), (3, 8)]
    begin, _, end, _ = edges[1]
    assert end - begin == 1  # days: where there is nothing there is no edge
    pyplot.close(figure)


def test_files_have_names_of_their_own(plots: Any) -> None:
    taken: list[str] = []
    for name in ("/a/b c", "/x/b c/", "..", "/", "$é/§"):
        taken.append(f"/out/{plots._file_name(name, taken)}.png")
    assert [Path(file).stem for file in taken] == ["b_c", "b_c-2", "cluster", "cluster-2", "cluster-3"]


def test_each_cluster_is_drawn(spark: Any, plots: Any, tmp_path: Path) -> None:
    if find_spec("matplotlib") is None:
        lacking("matplotlib", "KWIRE_SPARK")
    from pyspark.sql import functions as sql

    frames = load(spark, PCAP, **kwire.spark.cluster.OPTIONS)
    history = kwire.spark.cluster.history(frames, sql.lit("one $ two"))
    (file,) = plots.draw(history, str(tmp_path / "plots"))
    data = Path(file).read_bytes()
    assert Path(file).name == "one_two.png"
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert width > 1000
    assert height > 600
    led = plots._lines(plots._turns(plots._with_racks(history), "valid_from", "valid_to", sql.col("kind")))
    still = history.partition_states.where("valid_to is null").count()
    assert sum(line.counts[-1] for line in led["one $ two"]) == still
    history.all.unpersist()


def test_without_matplotlib_it_says_what_to_install(plots: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"a drawing needs the library matplotlib; pip install 'kwire\[plots\]'"):
        plots.need_matplotlib()
