"""Errors about what kwire is given to work with: dumps, data of ZooKeeper nodes, brokers, optional libraries."""

from __future__ import annotations

from .base import KwireError
from .texts import without_password


class DumpError(KwireError):
    """A dump that cannot be read in its detected format: `file`, `problem`, `hint`, and if known `line` (from 1, for
    text) or `offset` (in bytes from the start, for anything else).
    """

    def __init__(
        self, problem: str = "", *, file: str = "", line: int | None = None, offset: int | None = None, hint: str = ""
    ) -> None:
        super().__init__()
        self.problem: str = problem
        self.file: str = without_password(file)
        self.line: int | None = line
        self.offset: int | None = offset
        self.hint = hint

    def __str__(self) -> str:
        position = (self.file or "dump") + (f":{self.line}" if self.line else "")
        return f"{position}: {self.reason}"

    @property
    def reason(self) -> str:
        """The problem with its offset and the hint, without the file."""
        offset = "" if self.offset is None else f" (offset {self.offset})"
        return f"{self.problem}{offset}" + (f"; {self.hint}" if self.hint else "")


class CallError(KwireError):
    """A broker that cannot be reached, or that closes the connection: `address` as given, `problem`, `hint`."""

    def __init__(self, address: str = "", problem: str = "", hint: str = "") -> None:
        super().__init__()
        self.address: str = address
        self.problem: str = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.address}: {self.problem}"


class ZnodeError(KwireError):
    """Data of a ZooKeeper node that does not match its path: `znode` (the path), `json_path`, `problem`."""

    def __init__(self, problem: str = "", *, znode: str = "", json_path: str = "$") -> None:
        super().__init__()
        self.problem: str = problem
        self.znode: str = znode
        self.json_path: str = json_path

    def __str__(self) -> str:
        return f"{self.znode}: {self.json_path}: {self.problem}".removeprefix(": ")


class MissingExtra(KwireError):
    """An optional library is not installed: `library`, which the extra `extra` installs."""

    def __init__(self, need: str = "this", library: str = "", extra: str = "") -> None:
        super().__init__()
        self.need: str = need
        self.library: str = library
        self.extra: str = extra
        self.hint: str = f"pip install 'kwire[{extra}]'"

    def __str__(self) -> str:
        return f"{self.need} needs the library {self.library}; {self.hint}"
