"""A lake of tables that grows run by run: each run appears atomically, and no file is written twice.

Tables of Parquet: Spark writes a run beside the tables, in a folder that no reader lists. When the run is complete, a
decision is written; then the folders of the run are moved to the tables. A job that finds a decision moves the
remaining folders; it deletes runs without a decision.

Tables of Delta Lake and Iceberg commit by themselves, and each knows the runs that it has: a job that finds a run that
has begun writes it again, and the tables that have it skip it.

Therefore, after a killed job and another run, a lake is the same as after one run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from pyarrow.fs import FileSelector, FileType

from ...arrow.read_options import BadOption
from ...capture.files import find_store, local_path
from ...errors import KwireError, without_password
from ..session import JobFailed
from .lake_files import LakeFile

MANIFEST, STAGING, DECISION, SUCCESS = "_manifest", "_staging", "decision.json", "_SUCCESS"
BEGUN = "begun.json"
MANIFEST_KEYS = ("format", "files", "stream")  # what a lake remembers of a run
PARQUET = "parquet"
OTHER_FOLDER = "name another folder"


class Run(NamedTuple):
    """What is written to a lake at once.

    Attributes:
        name: the name of the run.
        files: the files whose frames it writes; none in a batch of a stream, whose checkpoint knows them.
        overwrite: whether it replaces all other runs.
        stream: the name of the stream that it is a batch of; empty for none.
        batch: the number of the batch in its stream.
    """

    name: str
    files: tuple[LakeFile, ...]
    overwrite: bool
    stream: str = ""
    batch: int = 0


class GrownFiles(KwireError):
    """These `files` have grown since they were written to the lake."""

    hint = "write captures that are complete; --overwrite writes all of them anew"

    def __init__(self, files: tuple[str, ...] = ()) -> None:
        super().__init__(files)
        self.files: tuple[str, ...] = tuple(map(without_password, files))

    def __str__(self) -> str:
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{''.join(self.files[:1])}{more}: written to the lake when it was shorter; {self.hint}"


class Lake:
    """The tables in a folder; one job at a time writes to it.

    Args:
        out: the folder, or its URI.
    """

    def __init__(self, out: str) -> None:
        self._given = out
        self.out: str = str(local_folder(out) or out).rstrip("/")
        self._store, self._root = find_store(self.out)

    @property
    def is_foreign(self) -> bool:
        """Whether the folder contains files that were not written by a run."""
        names = {name for name, _ in self._within("")}
        return bool(names) and not names & {MANIFEST, STAGING}

    @property
    def streams(self) -> set[str]:
        """The names of the streams that write it."""
        return {run["stream"] for run in self._runs() if run.get("stream")}

    @property
    def has_files(self) -> bool:
        """Whether it has files that no stream has read."""
        return bool(self.done())

    @property
    def formats(self) -> set[str]:
        """The formats of its tables; none if it is new."""
        return {run.get("format", PARQUET) for run in self._runs()}

    def check_format(self, table_format: str) -> None:
        """Raise BadOption if its tables have another format."""
        if others := self.formats - {table_format}:
            problem = f"the tables in {self._given} are {min(others)}"
            raise BadOption("format", table_format, problem, OTHER_FOLDER)

    def _runs(self) -> list[dict[str, Any]]:
        names = [f"{MANIFEST}/{name}" for name, _ in self._within(MANIFEST)]
        names += [f"{STAGING}/{name}/{BEGUN}" for name, _ in self._within(STAGING)]
        return [json.loads(text) for text in map(self._read, names) if text]

    def done(self) -> dict[str, LakeFile]:
        """Return the files that have been written, or that a run has begun to write, by identity."""
        return {source.identity: source for run in self._runs() for source in files_of(run)}

    def new(self, sources: Sequence[LakeFile]) -> list[LakeFile]:
        """Return the files that have not been written yet, without duplicates.

        Raises:
            GrownFiles: a file was written when it was shorter.
        """
        done = self.done()
        grown = {(source.path, source.head): source.size for source in done.values()}
        pending = {source.identity: source for source in sources if source.identity not in done}
        longer = [source.path for source in pending.values() if source.size > grown.get(_key_of(source), source.size)]
        if longer:
            raise GrownFiles(tuple(sorted(longer)))
        return list(pending.values())

    def new_run(self, files: Sequence[LakeFile], *, overwrite: bool = False) -> Run:
        """Return a run over these files; one that replaces other runs has a new name."""
        names = "".join(sorted(file.identity for file in files)) + (token_hex(8) if overwrite else "")
        name = "r" + sha256(names.encode()).hexdigest()[:12]  # "r": readers would parse digits as a number
        return Run(name, tuple(files), overwrite)

    def place_of(self, run: Run) -> str:
        """Return a new folder in the lake under which Spark writes the tables of a run."""
        return f"{STAGING}/{run.name}-{token_hex(4)}"

    def commit(self, run: Run, staged: str) -> None:
        """Make a run with complete tables of Parquet visible; raise JobFailed if it has no tables."""
        tables = [name for name, is_folder in self._within(staged) if is_folder]
        if not tables:
            raise JobFailed(f"what was written to {self.out} is not seen from here; name the folder by its URI")
        decision = {"run": run.name, "overwrite": run.overwrite, "tables": tables, **_manifest_of(run, PARQUET)}
        self._write(f"{staged}/{DECISION}", json.dumps(decision).encode())
        self._carry_out(staged, decision)

    def begin(self, run: Run, table_format: str) -> None:
        """Note a run whose tables commit by themselves."""
        begun = {"overwrite": run.overwrite, **_manifest_of(run, table_format)}
        self._write(f"{STAGING}/{run.name}/{BEGUN}", json.dumps(begun).encode())

    def begun(self) -> list[Run]:
        """Return the runs of killed jobs, which are to be written again."""
        texts = [(name, self._read(f"{STAGING}/{name}/{BEGUN}")) for name, _ in self._within(STAGING)]
        runs = [(name, json.loads(text)) for name, text in texts if text]
        return [Run(name, tuple(files_of(run)), run["overwrite"]) for name, run in runs]

    def finish(self, run: Run, table_format: str) -> None:
        """Note that all tables have a run; one that replaces the others ends them, too."""
        if run.overwrite:
            for name, _ in self._within(MANIFEST):
                self._delete(f"{MANIFEST}/{name}")
        self._note_run(run.name, _manifest_of(run, table_format))
        self._delete(f"{STAGING}/{run.name}")

    def has(self, run: Run) -> bool:
        """Whether a run has been written."""
        return bool(self._read(f"{MANIFEST}/{run.name}.json"))

    def forget_before(self, run: Run) -> None:
        """Forget the earlier batches of a stream, which Spark does not write again."""
        for name, _ in self._within(MANIFEST):
            if name.startswith(f"{run.stream}-") and name != f"{run.name}.json":
                self._delete(f"{MANIFEST}/{name}")

    def forget(self, run: Run) -> None:
        """Forget a run that has begun, because another one replaces all runs."""
        self._delete(f"{STAGING}/{run.name}")

    def recover(self) -> None:
        """Complete a killed job if its decision was written; delete its run unless it is to be written again."""
        for name, _ in self._within(STAGING):
            staged = f"{STAGING}/{name}"
            decision = self._read(f"{staged}/{DECISION}")
            if decision:
                self._carry_out(staged, json.loads(decision))
            elif not self._read(f"{staged}/{BEGUN}"):
                self._delete(staged)

    def _carry_out(self, staged: str, decision: Mapping[str, Any]) -> None:
        """Carry out a decision; this may be repeated after a crash at any point."""
        run, tables = decision["run"], decision["tables"]
        for name in (*tables, MANIFEST) if decision["overwrite"] else ():
            for entry, _ in self._within(name):
                if entry not in (f"run={run}", f"{run}.json"):
                    self._delete(f"{name}/{entry}")
        for table in tables:
            self._move(f"{staged}/{table}", f"{table}/run={run}")
            self._write(f"{table}/{SUCCESS}", b"")
        self._note_run(run, {name: decision[name] for name in MANIFEST_KEYS if name in decision})
        self._delete(staged)

    def _note_run(self, name: str, manifest: Mapping[str, Any]) -> None:
        """Note that a run has been written."""
        self._write(f"{MANIFEST}/{name}.json", json.dumps(manifest).encode())

    def _within(self, folder: str) -> list[tuple[str, bool]]:
        """List the names in a folder, and whether they are folders."""
        infos = self._store.get_file_info(FileSelector(self._at(folder), allow_not_found=True))
        return sorted((info.base_name, info.type == FileType.Directory) for info in infos)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _read(self, name: str) -> bytes:
        """Return the contents of a file; empty bytes if the file does not exist."""
        if self._store.get_file_info(self._at(name)).type != FileType.File:
            return b""
        with self._store.open_input_stream(self._at(name)) as stream:
            data: bytes = stream.read()
        return data

    def _write(self, name: str, data: bytes) -> None:
        """Write a file atomically."""
        path, part = self._at(name), self._at(f"{STAGING}/{token_hex(8)}.part")
        for target in (path, part):
            self._store.create_dir(target.rpartition("/")[0], recursive=True)
        with self._store.open_output_stream(part) as stream:
            stream.write(data)
        self._store.move(part, path)

    def _move(self, source: str, target: str) -> None:
        """Move a folder; move file by file if the store has no folders."""
        start, stop = self._at(source), self._at(target)
        infos = self._store.get_file_info(FileSelector(start, recursive=True, allow_not_found=True))
        for info in infos:
            if info.type == FileType.File and info.base_name != SUCCESS and not info.base_name.startswith("."):
                path = stop + info.path[len(start) :]
                self._store.create_dir(path.rpartition("/")[0], recursive=True)
                self._store.move(info.path, path)
        self._delete(source)

    def _delete(self, name: str) -> None:
        path = self._at(name)
        kind = self._store.get_file_info(path).type
        if kind == FileType.Directory:
            self._store.delete_dir(path)
        elif kind == FileType.File:
            self._store.delete_file(path)


def _key_of(source: LakeFile) -> tuple[str, str]:
    """Return the key by which a manifest finds a file that has since grown."""
    return without_password(source.path), source.head


def _manifest_of(run: Run, table_format: str) -> dict[str, Any]:
    """Return what a lake remembers of a run."""
    return {"format": table_format, "files": rows_of(run.files), "stream": run.stream}


def files_of(run: Mapping[str, Any]) -> list[LakeFile]:
    """Return the files of a run."""
    return [LakeFile(**row) for row in run["files"]]


def rows_of(sources: Sequence[LakeFile]) -> list[dict[str, Any]]:
    """Return files as values of JSON, without passwords in their paths."""
    return [source._replace(path=without_password(source.path))._asdict() for source in sources]


def local_folder(out: str) -> Path | None:
    """Return the local folder of a path or URI; None for another file system.

    Raises:
        BadOption: a `file:` URI has no absolute path; Spark would interpret it differently.

    >>> local_folder("lake"), local_folder("file:///data/lake"), local_folder("s3a://lake/kafka")
    (PosixPath('lake'), PosixPath('/data/lake'), None)
    """
    rest = re.sub("^file:(//(localhost)?(?=/))?", "", out, flags=re.IGNORECASE)
    if rest != out and (not rest.startswith("/") or rest.startswith("//")):
        raise BadOption("out", out, "a file: URI has an absolute path", "write file:///data/lake")
    return local_path(rest)
