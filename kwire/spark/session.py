"""A Spark session for `kwire pipeline`, and kwire as one zip for `spark-submit --py-files`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ..errors import MissingExtra
from ..resources import SCHEMAS
from . import register
from .errors import JobFailed, MissingJava

PURE = ("construct", "hexdump")  # libraries that may be imported from a zip
NEEDED = ("msgspec", "numpy", "pandas", "pyarrow")  # libraries that may not
LEFT_OUT = {".pyc", ".pyo"}
SCRIPT = '''"""Runs `kwire pipeline` under spark-submit; all arguments are passed on."""

import sys

from kwire.cli import main

sys.exit(main(["pipeline", *sys.argv[1:]]))
'''
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # of time, for zips: the same files make the same zip


def write_zip(file: Path) -> Path:
    """Write the zip, and the script beside it.

    Args:
        file: where the zip goes; the script is NAME-pipeline.py beside NAME.zip.

    Returns:
        Where the script is.

    Raises:
        OSError: a file cannot be written.
    """
    part = file.with_name(f"{file.name}.part")
    try:
        with ZipFile(part, "w", ZIP_DEFLATED) as archive:
            for name, path in sorted(_contents()):
                info = ZipInfo(name, _BEGINNING)
                info.compress_type = ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    script = file.with_name(f"{file.stem}-pipeline.py")  # a name that no import finds
    script.write_text(SCRIPT)
    return script


def _contents() -> Iterator[tuple[str, Path]]:
    """Yield what goes into the zip: the name there, and the file."""
    yield from _files("kwire", _PACKAGE)
    if SCHEMAS.parent != _PACKAGE:
        yield from _files("kwire/schemas", SCHEMAS)
    for library in PURE:
        found = find_spec(library)
        if found is not None and found.origin is not None:
            origin = Path(found.origin)
            if found.submodule_search_locations is None:
                yield origin.name, origin
            else:
                yield from _files(library, origin.parent)


def _files(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in LEFT_OUT:
            yield f"{name}/{path.relative_to(folder).as_posix()}", path


LEAST_JAVA = 17
HERE = "local[*]"
REMOTE = "sc://"  # servers of Spark Connect
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),  # of 200, Python would be started for each
}
SESSION = {"spark.sql.session.timeZone": "UTC"}  # what a server lets one set, too
ALWAYS = {
    "spark.log.level": "ERROR",
    "spark.python.unix.domain.socket.enabled": "true",
}
_PACKAGE = Path(__file__).parent.parent
_Started = tuple[Any, Callable[[str], None] | None]  # a session, and how a file is shipped to where it has to be


@contextmanager
def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Give a session that reads `kwire`, and stop it at the end.

    Args:
        master: where Spark runs, `local[2]`, `spark://host:7077` or `sc://host:15002`; None for what spark-submit says,
            or else all cores of this machine.
        settings: of Spark, by name; they go before those of kwire.

    Raises:
        MissingExtra: pyspark is not installed, or what Spark Connect takes is not.
        MissingJava: there is no Java, or one too old; a server has its own.
        JobFailed: a server does not answer, or refuses.
    """
    start = _remote if (master or "").startswith(REMOTE) else _classic
    spark, ship = start(master, settings or {})
    try:
        with TemporaryDirectory() as folder:  # until the end: executors fetch the file from here
            if ship is not None:
                file = Path(folder) / "kwire.zip"
                write_zip(file)
                ship(str(file))
            register(spark)
            yield spark
    finally:
        spark.stop()


def _classic(master: str | None, settings: Mapping[str, str]) -> _Started:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # by spark-submit, which has started Java
    if master is None and not submitted and "spark.master" not in settings:
        master = HERE
    is_here = re.fullmatch(r"local(\[.*\])?", master or "") is not None
    if not submitted:
        need_java()
    _prepare(is_here)
    progress = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    builder = _builder({**SESSION, **ALWAYS, **progress, **(LOCAL if is_here else {}), **settings})
    spark = (builder if master is None else builder.master(master)).getOrCreate()
    # Before `register`, which notes what a data source needs; what addArtifacts sends is none of that.
    return spark, None if submitted or is_here else spark.sparkContext.addPyFile


def _remote(url: str | None, settings: Mapping[str, str]) -> _Started:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if find_spec("grpc") is None:  # PySpark would end the process
        raise MissingExtra(f"{REMOTE}...", "grpcio", "connect")
    try:
        spark = SparkSession.builder.remote(url).getOrCreate()
        patience = spark.client.get_retry_policies()
        spark.client.set_retry_policies([])  # where nobody is, nobody answers for ten minutes
        for name, value in {**SESSION, **settings}.items():
            spark.conf.set(name, value)
        spark.client.set_retry_policies(patience)
    except PySparkException as error:
        raise JobFailed(str(error)) from None
    return spark, lambda file: spark.addArtifacts(file, pyfile=True)


def need_java() -> None:
    """Raise MissingJava unless there is a Java that runs Spark."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin/java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise MissingJava
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is not None and int(found[1]) < LEAST_JAVA:
        raise MissingJava(int(found[1]))


def _prepare(is_here: bool) -> None:
    """Let Spark's workers on this machine run the same Python, with the same kwire."""
    if is_here:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        places = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(places)


def _builder(settings: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("kwire pipeline")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder
