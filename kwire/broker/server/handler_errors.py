"""Errors in the code of a served broker: a line for the operator, a traceback for logging, the exception for a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...errors import excerpt
from ...runtime.loggers import BROKER

MOST = 10  # exceptions that are kept, with what they hold


class HandlerFailures:
    """The exceptions that a test should see: those of kwire's own code, and of functions of its rules.

    Args:
        note: called with a line for the operator.

    Attributes:
        errors: the first exceptions, until they are reported.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self.errors: list[Exception] = []

    def keep(self, error: Exception) -> None:
        """Keep an exception for a test."""
        if len(self.errors) < MOST:
            self.errors.append(error)

    def report(self, what: str, error: Exception, outcome: str, *, is_secret: bool = False) -> None:
        """Report an exception of kwire's own code, once.

        Args:
            what: what was being done.
            error: the exception.
            outcome: what the client gets.
            is_secret: whether the text of the exception may contain a password.
        """
        if error in self.errors:
            return
        text = type(error).__name__ if is_secret else f"{type(error).__name__}: {excerpt(str(error))}"
        line = f"{what}: an error in kwire, please report it: {text}{_where(error)}; {outcome}"
        error.add_note(line)
        self._note(line)
        BROKER.error(line, exc_info=None if is_secret else error)
        self.keep(error)

    def take(self) -> Exception | None:
        """Return the first exception, and forget all."""
        first = self.errors[0] if self.errors else None
        self.errors.clear()
        return first


def _where(error: Exception) -> str:
    """Return the file and line that raised an exception."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
