"""Functions that read or write bytes: neighbours of a fixed size wait in a run, and go by one struct.

In generated source `b` is the bytes that are read, `p` the position in them, `o` the bytearray that is written.
"""

from __future__ import annotations

from struct import calcsize

from .source import Function, Source


class Reads(Function):
    """A function that reads. Any line settles the run, so that every variable has its value where it is used."""

    def __init__(self, source: Source, name: str, parameters: str = "b, p") -> None:
        super().__init__(source, name, parameters)
        self.loops = 0
        self._run: list[tuple[str, str]] = []
        self._notes: list[str] = []

    def fixed(self, code: str) -> str:
        """Read what one format code says; return its variable."""
        variable = self.variable()
        self._run.append((code, variable))
        return variable

    def byte(self) -> tuple[str, bool]:
        """Read a byte that may begin a varint; return its variable, and whether it is signed.

        In a run it is signed, so that the one test `< 1` finds both null and what needs more bytes.
        """
        if self._run:
            return self.fixed("b"), True
        variable = self.variable()
        self.line(f"{variable} = b[p]; p += 1")
        return variable, False

    def note(self, name: str) -> None:
        """Name the field that is read next, in a comment."""
        self._notes.append(name)

    def line(self, text: str) -> None:
        """Write a line, behind what waits."""
        self.settle()
        super().line(text + self._comment())

    def settle(self) -> None:
        """Read the run."""
        if not self._run:
            return
        codes, variables = zip(*self._run, strict=True)
        self._run.clear()
        if codes == ("B",):
            super().line(f"{variables[0]} = b[p]; p += 1{self._comment()}")
            return
        targets = ", ".join(variables) + ("," if len(variables) == 1 else "")
        unpack = self.source.struct("".join(codes), "unpack_from")
        super().line(f"{targets} = {unpack}(b, p); p += {calcsize('>' + ''.join(codes))}{self._comment()}")

    def _comment(self) -> str:
        names, self._notes = self._notes, []
        return f"  # {', '.join(names)}" if names else ""
