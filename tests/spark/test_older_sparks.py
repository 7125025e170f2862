"""Spark as managed services run it, 3.5 and 4.0, and 4.1: each runs the tests of `test_every_spark`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.tools.locks import one_at_a_time

HASHES = {  # of PyPI's files
    "3.5.9": "ea27adc39ddac9413b8951e45aa748cbed6c785971b81386efc41938f6243d93",
    "4.0.5": "a0d44b0e7faf0458ad83b7aa664e7ed8b96beed8a55d66ce3b0dfac2309dfca6",
    "4.1.4": "bcbd5e18690cf79d438e97210ad06fb8d451a251bb77becc2b0418868d2acd73",
}
CACHE = Path.home() / ".cache/kwire-pyspark"


def pyspark(version: str) -> Path:
    """Return a folder with this PySpark alone, which is installed at first."""
    folder = CACHE / version
    with one_at_a_time(CACHE):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
                wanted = Path(temporary, "requirements.txt")
                wanted.write_text(f"pyspark=={version} --hash=sha256:{HASHES[version]}\n")
                pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--require-hashes"]
                done = subprocess.run(
                    [*pip, "--target", f"{temporary}/pyspark", "-r", wanted],
                    timeout=300,
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, done.stderr[-3000:]
                Path(temporary, "pyspark").rename(folder)
    return folder


@pytest.mark.limit(600)
@pytest.mark.parametrize("version", HASHES)
def test_an_older_spark(version: str, tmp_path: Path) -> None:
    # PySpark 3.5 leaves sockets open, and imports distutils.
    quiet = ["-W", "ignore::DeprecationWarning", "-W", "ignore::ResourceWarning"]
    quiet += ["-W", "ignore::pytest.PytestUnraisableExceptionWarning"]
    suite = [str(ROOT / "tests/spark/test_every_spark.py"), "-m", "", "-v", "-p", "no:cacheprovider"]
    places = os.pathsep.join([str(pyspark(version)), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *suite, *quiet, "--basetemp", str(tmp_path / "temporary")],
        env={**os.environ, "PYTHONPATH": places},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None, done.stdout[-3000:]
    assert int(passed[1]) >= 12
