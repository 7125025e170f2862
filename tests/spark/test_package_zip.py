"""kwire in a zip is kwire, with its specs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import kwire
from kwire.spark.package_zip import SCRIPT, write_zip
from kwire.spark.worker_engines import workers_engines
from tests.conftest import ROOT

DUMP = ROOT / "fixtures/dumps/kafka-3.9-zk.bin"


def ran(archive: Path, code: str) -> str:
    """Run code with the kwire of the zip alone."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(archive)},
        cwd=archive.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_it_has_all_it_takes(tmp_path: Path) -> None:
    script = write_zip(tmp_path / "kwire.zip")
    assert (script.name, script.read_text()) == ("kwire-pipeline.py", SCRIPT)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kwire-pipeline.py", "kwire.zip"]
    names = set(ZipFile(tmp_path / "kwire.zip").namelist())
    assert {"kwire/schemas/kafka/FetchRequest.json", "kwire/render/html/page.js"} <= names
    assert any(name.startswith("construct/") for name in names)
    assert not any("__pycache__" in name or name.startswith(("msgspec", "tests")) for name in names)


def test_the_same_files_make_the_same_zip(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        write_zip(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_everything_is_found_in_the_zip(tmp_path: Path) -> None:
    write_zip(tmp_path / "kwire.zip")
    code = f"""
import kwire, construct
from kwire.schema import catalog
print(kwire.__file__, construct.__file__)
print([type(result).__name__ for result in kwire.decode_frames(kwire.read_dump({str(DUMP)!r}))][:2])
print(catalog.profiles(), kwire.codec("CreateReplicaAssignmentRequest", 0, profile="KIP-879").name)
print(len(catalog.catalog_for(release="3.9").names()) > 200, kwire.release("3.9").name)
"""
    lines = ran(tmp_path / "kwire.zip", code).splitlines()
    assert all(str(tmp_path / "kwire.zip") in place for place in lines[0].split())
    assert lines[1:] == [
        "['Request', 'Response']",
        "['KIP-112', 'KIP-36', 'KIP-879'] CreateReplicaAssignmentRequest",
        "True 3.9.2",
    ]


def test_workers_have_the_same_engine(spark: Any) -> None:
    assert {engine for _, engine in workers_engines(spark, 2)} == {kwire.engine}
