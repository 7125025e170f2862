"""Starts Java for Spark, and passes on what it prints, without the lines that are printed in every run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import BinaryIO

from ..errors import KwireError

LEAST_JAVA = 17
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


class MissingJava(KwireError):
    """Java is missing or too old: `found` is its version, None if it is missing."""

    hint = "install it (apt-get install openjdk-17-jre-headless, dnf install java-17-openjdk-headless, brew install "
    hint += "openjdk@17), or point JAVA_HOME to one"

    def __init__(self, major_version: int | None = None) -> None:
        super().__init__(major_version)
        self.found = major_version

    def __str__(self) -> str:
        there = "there is no Java" if self.found is None else f"there is Java {self.found}"
        return f"Spark needs Java 17 or newer, and {there}; {self.hint}"


def start_java(settings: Mapping[str, str]) -> None:
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
    rest = b""
    pending: list[bytes] = []  # the lines of a traceback before the last one
    while data := stream.read(1 << 16):
        *lines, rest = _LINE_END.split(rest + data)
        for line in lines:
            pending += [line]
            if _TRACEBACK.match(line):
                continue
            is_stopped = line.startswith(BROKEN_PIPE) and any(DAEMON in earlier for earlier in pending)
            if not is_stopped and not USUAL.match(line):
                target.write(b"".join(pending))
            pending = []
        target.flush()
    target.write(b"".join([*pending, rest]))
    target.flush()


def need_java() -> None:
    """Raise MissingJava without a Java version that Spark supports."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin/java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        raise MissingJava
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    if match is not None and int(match[1]) < LEAST_JAVA:
        raise MissingJava(int(match[1]))
