"""Creates the Spark session of `kwire pipeline` and ships kwire to a cluster; packs kwire as a zip for
`spark-submit`.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from kwire.errors import KwireError, MissingExtra
from kwire.resources import SCHEMAS
from kwire.spark import register

PURE = ("construct", "hexdump")  # libraries that can be imported from a zip
NEEDED = ("msgspec", "numpy", "pandas", "pyarrow")  # libraries that cannot
LEFT_OUT = {".pyc", ".pyo"}
SCRIPT = '''"""Runs `kwire pipeline` under spark-submit; all arguments are passed on."""

import sys

from kwire.cli.main import main

sys.exit(main(["pipeline", *sys.argv[1:]]))
'''
_DETAILS = "details = "  # gRPC's error message contains the reason after this text
_PYTHON = re.compile(r"[A-Z]\w*(Error|Exception): ").match  # the last line of a traceback
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the earliest time of zip entries; equal files give an equal zip


class MissingJava(KwireError):
    """Java is missing or too old: `found` is its version, None if it is missing."""

    hint = "install it (apt-get install openjdk-17-jre-headless, dnf install java-17-openjdk-headless, brew install "
    hint += "openjdk@17), or point JAVA_HOME to one"

    def __init__(self, found: int | None = None) -> None:
        super().__init__(found)
        self.found = found

    def __str__(self) -> str:
        there = "there is no Java" if self.found is None else f"there is Java {self.found}"
        return f"Spark needs Java 17 or newer, and {there}; {self.hint}"


class JobFailed(KwireError):
    """A Spark job failed: `problem` is Spark's message, whose first line is shown."""

    def __init__(self, problem: str = "") -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        lines = [line.strip() for line in self.problem.splitlines() if line.strip()]
        own = [line for line in lines if "[KWIRE_" in line or line.startswith("kwire.")]
        python = [line for line in lines if _PYTHON(line)]
        grpc = [line.removeprefix(_DETAILS).strip('"') for line in lines if line.startswith(_DETAILS)]
        return f"Spark: {[*own, *python[::-1], *grpc, *lines, 'the job failed'][0]}"


def write_zip(file: Path) -> Path:
    """Write the zip, and the script beside it.

    Args:
        file: the path of the zip; the script is NAME-pipeline.py beside NAME.zip.

    Returns:
        The path of the script.

    Raises:
        OSError: a file cannot be written.
    """
    _pack(file, [*_package(), *_libraries()])
    script = file.with_name(f"{file.stem}-pipeline.py")  # the name of a script, which cannot be imported
    script.write_text(SCRIPT)
    return script


def _pack(file: Path, contents: Iterable[tuple[str, Path]]) -> None:
    """Write a zip of files with given names; it appears once it is complete."""
    part = file.with_name(f"{file.name}.part")
    try:
        with ZipFile(part, "w", ZIP_DEFLATED) as archive:
            for name, path in sorted(contents):
                info = ZipInfo(name, _BEGINNING)
                info.compress_type = ZIP_DEFLATED
                archive.writestr(info, path.read_bytes())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _package(name: str = "kwire/") -> Iterator[tuple[str, Path]]:
    """Yield the files of kwire: the name in the zip, which starts with `name`, and the path."""
    yield from _files(name, _PACKAGE)
    if SCHEMAS.parent != _PACKAGE:
        yield from _files(f"{name}schemas/", SCHEMAS)


def _libraries() -> Iterator[tuple[str, Path]]:
    """Yield the files of the libraries `PURE`, as `_package` does."""
    for library in PURE:
        found = find_spec(library)
        if found is not None and found.origin is not None:
            origin = Path(found.origin)
            if found.submodule_search_locations is None:
                yield origin.name, origin
            else:
                yield from _files(f"{library}/", origin.parent)


def _files(before: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix not in LEFT_OUT:
            yield f"{before}{path.relative_to(folder).as_posix()}", path


LEAST_JAVA = 17
HERE = "local[*]"
REMOTE = "sc://"  # prefix of a Spark Connect server
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),  # the default is 200, and each starts Python
}
SESSION = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # other readers find no time zone in INT96
}  # settings that a Spark Connect server accepts
ALWAYS = {
    "spark.log.level": "ERROR",
    "spark.python.unix.domain.socket.enabled": "true",
}
SHIPPED = "kwire_shipped"  # the folder on a worker into which the archive is unpacked
# Lines that Java and Spark print in every run, and those of Python workers when Spark stops reading early.
USUAL = re.compile(
    rb"WARNING: (Using incubator modules|A restricted method|.*sun\.misc|java\.lang\.System::)"
    rb"|Using Spark's default log4j|Setting (default|Spark) log level|To adjust logging level"
    rb"|\S+ \S+ WARN (Utils|NativeCodeLoader): "
)
BROKEN_PIPE, DAEMON = b"BrokenPipeError: ", b"daemon.py"
_TRACEBACK = re.compile(rb"PySpark daemon failed to flush|Traceback |  ")
_LINE_END = re.compile(rb"(?<=[\r\n])")
STDERR = 2
APPLICATION = "kwire pipeline"
PROBES = 4  # tasks per core of a cluster that report the engine
SERVER_PROBES = 32  # number of such tasks on a Spark Connect server, whose number of cores is unknown
_PACKAGE = Path(__file__).parent.parent


@contextmanager
def session(master: str | None = None, settings: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Create a session with the data source `kwire`, and stop it at the end.

    Args:
        master: the Spark master, `local[2]`, `spark://host:7077` or `sc://host:15002`; None for the master of
            spark-submit, or else all cores of this machine.
        settings: Spark settings by name; they override kwire's settings.

    Raises:
        MissingExtra: pyspark, or the libraries of Spark Connect, are not installed.
        MissingJava: Java is missing or too old; Spark Connect does not need it.
        JobFailed: the server does not respond, or refuses the session.
    """
    start = _remote if (master or "").startswith(REMOTE) else _classic
    with TemporaryDirectory() as folder:  # kept until the end, because executors download the file
        spark = start(master, settings or {}, Path(folder))
        try:
            register(spark)
            yield spark
        finally:
            spark.stop()


def _classic(master: str | None, settings: Mapping[str, str], folder: Path) -> Any:
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # spark-submit has started Java
    if master is None and not submitted and "spark.master" not in settings:
        master = HERE
    is_here = re.fullmatch(r"local(\[.*\])?", master or "") is not None
    if not submitted:
        need_java()
    _prepare(is_here)
    progress = {"spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    given = {**SESSION, **ALWAYS, **progress, **(LOCAL if is_here else {}), **settings}
    if not submitted and not is_here:
        given = _shipping(given, folder)
    if master is not None:
        given["spark.master"] = master
    if not submitted:
        _start_java(given)
    return _builder(given).getOrCreate()


def _start_java(settings: Mapping[str, str]) -> None:
    """Start Java unless it is running; copy its standard error without the lines that are printed in every run."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    begin, end = os.pipe()
    stream, target = os.fdopen(begin, "rb", buffering=0), os.fdopen(os.dup(STDERR), "wb")
    Thread(target=pass_on, args=(stream, target), daemon=True).start()
    try:
        conf = SparkConf().setAll([("spark.app.name", APPLICATION), *settings.items()])
        SparkContext._ensure_initialized(gateway=launch_gateway(conf, {"stderr": end}))
    finally:
        os.close(end)


def pass_on(stream: BinaryIO, target: BinaryIO) -> None:
    """Copy the output of Spark, except `USUAL` lines, and tracebacks of workers that Spark stopped reading.

    Each line is passed on immediately; Spark's progress bar ends with a carriage return.
    """
    rest, held = b"", list[bytes]()  # the lines of a traceback before the last one
    while data := stream.read(1 << 16):
        *lines, rest = _LINE_END.split(rest + data)
        for line in lines:
            held += [line]
            if _TRACEBACK.match(line):
                continue
            if not USUAL.match(line) and not (line.startswith(BROKEN_PIPE) and any(DAEMON in one for one in held)):
                target.write(b"".join(held))
            held = []
        target.flush()
    target.write(b"".join([*held, rest]))
    target.flush()


def _shipping(settings: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the settings with which executors unpack and find kwire: a native engine cannot be loaded from a zip."""
    file = folder / "kwire.zip"
    write_zip(file)
    archives = [*filter(None, [settings.get("spark.archives")]), f"{file}#{SHIPPED}"]
    name = "spark.executorEnv.PYTHONPATH"
    places = [SHIPPED, *filter(None, [settings.get(name)])]
    return {**settings, "spark.archives": ",".join(archives), name: os.pathsep.join(places)}


def engine_notices(spark: Any) -> list[str]:
    """Return a sentence about the machines of a cluster that decode without the native engine.

    The list is empty if all machines have it.

    Args:
        spark: a session from `session`, after a job, so that executors are running.
    """
    from pyspark.sql import is_remote

    if is_remote():
        tasks = SERVER_PROBES
    elif re.match(r"local(\[|$)", spark.sparkContext.master):
        return []
    else:
        tasks = PROBES * spark.sparkContext.defaultParallelism
    slow = sorted(host for host, engine in workers_engines(spark, tasks) if engine != "native")
    if not slow:
        return []
    return [f"without the native engine, slower: workers on {', '.join(slow)} (another platform, or another Python)"]


def workers_engines(spark: Any, tasks: int) -> set[tuple[str, str]]:
    """Return the names of machines that run tasks, each with kwire's engine there."""
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(_engines, "host string, engine string")
    return {(row["host"], row["engine"]) for row in rows.distinct().collect()}


def _engines(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    import kwire

    for _ in batches:
        yield pa.RecordBatch.from_pylist([{"host": socket.gethostname(), "engine": kwire.engine}])


def _remote(url: str | None, settings: Mapping[str, str], folder: Path) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    if find_spec("grpc") is None:  # otherwise, PySpark would exit the process
        raise MissingExtra(f"{REMOTE}...", "grpcio", "connect")
    try:
        spark = SparkSession.builder.remote(url).getOrCreate()
        patience = spark.client.get_retry_policies()
        spark.client.set_retry_policies([])  # otherwise an unreachable server is retried for ten minutes
        for name, value in {**SESSION, **settings}.items():
            spark.conf.set(name, value)
        spark.client.set_retry_policies(patience)
    except PySparkException as error:
        raise JobFailed(str(error)) from None
    # A worker has the folder of a session's files on its path, and archives are unpacked there. The folder is named
    # kwire, so that the native engine can be loaded, which is impossible from a zip.
    _pack(folder / "package.zip", _package(""))
    _pack(folder / "libraries.zip", _libraries())
    spark.addArtifacts(f"{folder / 'package.zip'}#kwire", archive=True)
    spark.addArtifacts(str(folder / "libraries.zip"), pyfile=True)
    return spark


def need_java() -> None:
    """Raise MissingJava without a Java version that Spark supports."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin/java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise MissingJava
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    if found is not None and int(found[1]) < LEAST_JAVA:
        raise MissingJava(int(found[1]))


def _prepare(is_here: bool) -> None:
    """Make Spark's local workers use the current Python and kwire."""
    if is_here:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        places = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(places)


def _builder(settings: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(APPLICATION)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder
