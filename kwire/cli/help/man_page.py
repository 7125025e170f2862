"""The man page, made from the parsers of all commands and the help topics."""

from __future__ import annotations

import argparse

from .parser_words import words_of
from .topics import TOPICS


def man_page(parser: argparse.ArgumentParser, version: str) -> str:
    """Return the man page, in the language of man(7)."""
    lines = [f'.TH KWIRE 1 "" "kwire {version}" "User Commands"', ".SH NAME"]
    lines += [
        r"kwire \- decode and encode Apache Kafka's wire protocol",
        ".SH SYNOPSIS",
        ".B kwire",
        r"COMMAND [OPTIONS] [FILE...]",
    ]
    for command in words_of(parser):
        lines += [".SH OPTIONS"] if not command.path else [f".SS {_roff(' '.join(('kwire', *command.path)))}"]
        lines += _entries(command.options)
        lines += [] if command.path else [".SH COMMANDS"]
        lines += _entries(command.commands)
    for name, (about, text) in TOPICS.items():
        lines += [f".SH {_roff(name.upper())}", _roff(about), ".nf", *map(_roff, text.splitlines()), ".fi"]
    return "\n".join(lines) + "\n"


def _entries(words: dict[str, str]) -> list[str]:
    return [line for word, about in words.items() for line in (".TP", f".B {_roff(word)}", _roff(about) or r"\&")]


def _roff(text: str) -> str:
    r"""Escape text so that man does not read any of it as a request.

    >>> print(_roff("--body"), _roff(".x"), _roff("a\\b"))
    \-\-body \&.x a\eb
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text
