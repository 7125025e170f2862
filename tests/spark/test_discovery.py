"""Where kwire is installed, Spark finds its format by itself; and what cannot be imported hides no other format."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.arrow.captures import FRAMES
from tests.conftest import ROOT
from tests.spark.conftest import SETTINGS

PROGRAM = f"""
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]")
for name, value in {SETTINGS!r}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
print(spark.read.format("kwire").load({str(FRAMES)!r}).count(), "frames")
"""


def test_spark_finds_what_the_wheel_has(tmp_path: Path) -> None:
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    (source,) = [file for file, target in included["force-include"].items() if target == "pyspark_kwire/__init__.py"]
    (tmp_path / "pyspark_kwire").mkdir()
    shutil.copy(ROOT / source, tmp_path / "pyspark_kwire/__init__.py")
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "6 frames", done.stderr


def test_it_never_raises() -> None:
    program = "import sys; sys.modules['pyarrow'] = None; import kwire.spark.pyspark_kwire"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
