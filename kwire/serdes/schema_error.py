"""Why a key or value cannot be decoded by its schema."""

from __future__ import annotations

from ..errors import KwireError

NO_SCHEMA, NO_ANSWER, BAD_SCHEMA, BAD_VALUE = "NO_SCHEMA", "NO_ANSWER", "BAD_SCHEMA", "BAD_VALUE"
NO_LIBRARY = "NO_LIBRARY"
LONGEST = 200  # characters of a library's reason


class SchemaError(KwireError):
    """A key or value that cannot be decoded by its schema; its bytes are kept.

    Attributes:
        code: `NO_SCHEMA` (the source has no schema of this id), `NO_ANSWER` (the registry cannot be asked),
            `BAD_SCHEMA` (a schema that cannot be used), `BAD_VALUE` (the bytes do not fit the schema), `NO_LIBRARY`.
        problem: the reason.
        json: the value as JSON on one line, if it can be read although it does not fit its schema.
    """

    def __init__(self, code: str = "", problem: str = "", json: str = "") -> None:
        super().__init__()
        self.code: str = code
        self.problem: str = problem
        self.json: str = json

    def __str__(self) -> str:
        return self.problem


def missing_library(kind: str, library: str) -> SchemaError:
    """Return the error for values whose library is not installed."""
    return SchemaError(NO_LIBRARY, f"{kind} needs {library}: pip install 'kwire[values]'")


def library_reason(error: Exception) -> str:
    """Return the reason of a library's error in one short line."""
    return (" ".join(str(error).split()) or type(error).__name__)[:LONGEST]
