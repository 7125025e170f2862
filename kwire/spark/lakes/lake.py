"""A lake of tables that grows run by run: each run appears atomically, and no file is written twice.

Spark writes a run beside the tables, in a folder that no reader lists. When the run is complete, a decision is
written; then the folders of the run are moved to the tables. A job that finds a decision moves the remaining folders;
it deletes runs without a decision. Therefore, after a killed job and another run, a lake is the same as after one run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from secrets import token_hex
from typing import Any

from pyarrow.fs import FileSelector, FileType

from ...capture.files import find_store
from ...errors import KwireError, without_password
from ..session import JobFailed
from .lake_files import LakeFile

MANIFEST, STAGING, DECISION, SUCCESS = "_manifest", "_staging", "decision.json", "_SUCCESS"


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
        self.out: str = out.rstrip("/")
        self._store, self._root = find_store(self.out)

    @property
    def is_foreign(self) -> bool:
        """Whether the folder contains files that were not written by a run."""
        names = {name for name, _ in self._within("")}
        return bool(names) and not names & {MANIFEST, STAGING}

    def done(self) -> dict[str, LakeFile]:
        """Return the files that have been written, by identity."""
        runs = [json.loads(self._read(f"{MANIFEST}/{name}")) for name, _ in self._within(MANIFEST)]
        return {source.identity: source for run in runs for source in (LakeFile(**row) for row in run["files"])}

    def new(self, sources: Sequence[LakeFile]) -> list[LakeFile]:
        """Return the files that have not been written yet, without duplicates.

        Raises:
            GrownFiles: a file was written when it was shorter.
        """
        done = self.done()
        grown = {(source.path, source.head): source.size for source in done.values()}
        pending = {source.identity: source for source in sources if source.identity not in done}
        longer = [source.path for source in pending.values() if source.size > grown.get(_shown(source), source.size)]
        if longer:
            raise GrownFiles(tuple(sorted(longer)))
        return list(pending.values())

    def stage(self, sources: Sequence[LakeFile], *, overwrite: bool = False) -> tuple[str, str]:
        """Return the name of a run over these files, and the folder in the lake under which Spark writes its tables.

        A run that replaces other runs has a new name.
        """
        names = "".join(sorted(source.identity for source in sources)) + (token_hex(8) if overwrite else "")
        run = "r" + sha256(names.encode()).hexdigest()[:12]  # "r": readers would parse digits as a number
        return run, f"{STAGING}/{run}-{token_hex(4)}"

    def commit(self, run: str, staged: str, sources: Sequence[LakeFile], *, overwrite: bool = False) -> None:
        """Make a run with complete tables visible; raise JobFailed if it has no tables."""
        files = [source._replace(path=without_password(source.path))._asdict() for source in sources]
        tables = [name for name, is_folder in self._within(staged) if is_folder]
        if not tables:
            raise JobFailed(f"what was written to {self.out} is not seen from here; name the folder by its URI")
        decision = {"run": run, "overwrite": overwrite, "tables": tables, "files": files}
        self._write(f"{staged}/{DECISION}", json.dumps(decision).encode())
        self._carry_out(staged, decision)

    def recover(self) -> None:
        """Complete a killed job if its decision was written; otherwise delete its run."""
        for name, _ in self._within(STAGING):
            staged = f"{STAGING}/{name}"
            decision = self._read(f"{staged}/{DECISION}")
            if decision:
                self._carry_out(staged, json.loads(decision))
            else:
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
        self._write(f"{MANIFEST}/{run}.json", json.dumps({"files": decision["files"]}).encode())
        self._delete(staged)

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


def _shown(source: LakeFile) -> tuple[str, str]:
    """Return the key by which a manifest finds a file that has since grown."""
    return without_password(source.path), source.head
