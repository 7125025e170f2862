"""The lines of Spark in docs/reference/spark.md, some of them in README.md too, run on a folder of real captures."""

from __future__ import annotations

import ast
import doctest
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import kwire.spark
from tests.arrow.captures import FRAMES, LOG, PCAP, rows_of
from tests.docs.pages import text_of
from tests.spark.test_data_source import load

PAGE = "docs/reference/spark.md"
SHOWN = re.compile(r"```python\n(kwire\.spark\.register\(spark\).*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def shown(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """The folder of captures, and what each line gave."""
    folder = tmp_path_factory.mktemp("readme") / "captures"
    folder.mkdir()
    for path in (FRAMES, PCAP):
        shutil.copy(path, folder)
    records = kwire.spark.records(load(spark, LOG, body="raw")).select("record.value")
    (block,) = SHOWN.findall(text_of(PAGE))
    given: list[Any] = []
    names = {"spark": spark, "kwire": kwire, "table": records, "given": given}
    lines = [f">>> {line}" for line in lines_of(block.replace('"captures/"', repr(str(folder))))]
    test = doctest.DocTestParser().get_doctest("\n".join(lines), names, PAGE, None, 0)
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
    return folder, given


def lines_of(block: str) -> list[str]:
    """Return lines whose values are given to a list named `given`."""
    found = []
    for node in ast.parse(block).body:
        if isinstance(node, ast.Assign):
            found.append(ast.unparse(node))
        assert isinstance(node, ast.Assign | ast.Expr)
        found.append(f"given.append({ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.value)})")
    return found


def test_the_readme_has_lines_of_the_page() -> None:
    (page,), (readme,) = (SHOWN.findall(text_of(name)) for name in (PAGE, "README.md"))
    assert page.startswith(readme)


def test_it_reads_captures(shown: tuple[Path, list[Any]]) -> None:
    folder, (_, frames, *_) = shown
    ports = frames.selectExpr("explode(message.live_brokers) as b").selectExpr("b.rack").distinct().collect()
    assert frames.count() == len(rows_of(folder, apis="UpdateMetadataRequest", body="none")) > 0
    assert {row["rack"] for row in ports} >= {"/dc1/r2"}


def test_it_reads_a_folder_that_grows(spark: Any, shown: tuple[Path, list[Any]], tmp_path: Path) -> None:
    folder, (_, _, stream, *_) = shown
    out = str(tmp_path / "out")
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert writer.trigger(availableNow=True).start(out).awaitTermination(120)
    assert spark.read.parquet(out).count() == len(rows_of(folder, body="none"))


def test_it_decodes_a_column(shown: tuple[Path, list[Any]]) -> None:
    (column,) = shown[1][3].toArrow().columns
    commits = [value for value in column.to_pylist() if value is not None]
    assert len(commits) > 0
    assert all(value["offset"] >= 0 for value in commits)


def test_it_has_records_as_rows(shown: tuple[Path, list[Any]]) -> None:
    topics = {row[0] for row in shown[1][4].select("record.topic").distinct().collect()}
    assert topics == {"orders", "payments"}


def test_it_tells_the_history(shown: tuple[Path, list[Any]]) -> None:
    history = shown[1][5]
    assert {row[0] for row in history.brokers.select("rack").distinct().collect()} >= {"/dc1/r2"}
    assert history.offline_replicas.count() > 0
    history.all.unpersist()
