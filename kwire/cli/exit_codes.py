"""Exit codes of commands: an error becomes a message and a code, never a traceback.

`kwire help exit-codes` lists the codes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from ..errors import DecodeError, EncodeError, KwireError
from .terminal.remarks import complain


def report_errors(command: Callable[[], int]) -> int:
    """Run a command; print an error of kwire or of the system, and return its exit code."""
    try:
        return command()
    except KwireError as error:
        complain(str(error), error.hint if error.hint not in str(error) else "", getattr(error, "__notes__", ()))
        return 1 if isinstance(error, EncodeError | DecodeError) else 2
    except BrokenPipeError:  # see `end_when_interrupted`
        raise
    except OSError as error:
        complain(f"{error.filename or ''}: {error.strerror or error}".removeprefix(": "))
        return 2


def end_when_interrupted(command: Callable[[], int]) -> int:
    """Run a command; end as is usual for a closed pipe or for Ctrl-C."""
    try:
        return command()
    except BrokenPipeError:
        # The reader of the pipe has closed it; nothing may be written any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
