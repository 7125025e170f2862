"""The command `kwire`: a module for each command, with its parser and what it does. The only package that prints."""

from .main import main

__all__ = ["main"]
