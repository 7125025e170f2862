"""Errors of Spark jobs that are raised before the job starts.

KwireError
+-- MissingJava            the installation: no Java that runs Spark
+-- OutputExists           the caller: the output folder is not empty
+-- UnnamedFiles           the caller: the expression that names clusters does not match the paths of files
+-- GrownFiles             the caller: captures that were written to the lake before they were complete
+-- JobFailed              Spark: the reason of a failed job
"""

from __future__ import annotations

import re

from ..errors import KwireError, without_password

_DETAILS = "details = "  # gRPC puts the reason after this
_PYTHON = re.compile(r"[A-Z]\w*(Error|Exception): ").match  # the last line of a traceback


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


class OutputExists(KwireError):
    """The output folder is not empty: `path`."""

    hint = "--overwrite replaces it"  # a lake is appended to

    def __init__(self, path: str = "") -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: it is there already, and not empty; {self.hint}"


class UnnamedFiles(KwireError):
    """The expression `pattern` does not match the paths of these `files`, so that their cluster is unknown."""

    hint = "its first group has to be found in every path; --option pathGlobFilter=GLOB leaves files out"
    most = 5  # files that are listed

    def __init__(self, pattern: str = "", files: tuple[str, ...] = ()) -> None:
        super().__init__(pattern, files)
        self.pattern: str = pattern
        self.files: tuple[str, ...] = tuple(map(without_password, files))

    def __str__(self) -> str:
        more = len(self.files) - self.most
        named = ", ".join(self.files[: self.most]) + (f" and {more} more" if more > 0 else "")
        return f"--cluster {self.pattern} names no cluster for {named}; {self.hint}"


class GrownFiles(KwireError):
    """These `files` have grown since they were written to the lake."""

    hint = "write captures that are complete; --overwrite writes all of them anew"

    def __init__(self, files: tuple[str, ...] = ()) -> None:
        super().__init__(files)
        self.files: tuple[str, ...] = tuple(map(without_password, files))

    def __str__(self) -> str:
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.files[0]}{more}: written to the lake when it was shorter; {self.hint}"


class JobFailed(KwireError):
    """A Spark job failed: `problem` is Spark's message, of which the first line is shown."""

    def __init__(self, problem: str = "") -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        lines = [line.strip() for line in self.problem.splitlines() if line.strip()]
        own = [line for line in lines if "[KWIRE_" in line or line.startswith("kwire.")]
        python = [line for line in lines if _PYTHON(line)]
        grpc = [line.removeprefix(_DETAILS).strip('"') for line in lines if line.startswith(_DETAILS)]
        return f"Spark: {[*own, *python[::-1], *grpc, *lines, 'the job failed'][0]}"
