"""The error for options that are invalid or cannot be combined."""

from __future__ import annotations

from ...errors import KwireError


class UsageError(KwireError):
    """Raised for options that cannot be combined or have invalid values."""
