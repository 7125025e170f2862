"""The command `kwire`: argv becomes one call below and prints it. Knows no protocol."""

from .main import main

__all__ = ["main"]
