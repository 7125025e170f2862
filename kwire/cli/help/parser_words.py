"""The words that a parser accepts: commands, and options with their help."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """What may follow the words of a command line: commands, options with their help, and whether files may follow."""

    path: tuple[str, ...]
    commands: dict[str, str]
    options: dict[str, str]


def words_of(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Words]:
    """Yield the words of a parser, then those of its commands."""
    inner = commands_of(parser)
    options = {name: about_of(action) for action in shown(parser) for name in action.option_strings}
    yield Words(path, names_in(inner), options)
    for name, child in {} if inner is None else inner.choices.items():
        yield from words_of(child, (*path, name))


def commands_of(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    """Return the argument of a parser that is the name of a command, if it has one."""
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)


def names_in(commands: argparse._SubParsersAction[argparse.ArgumentParser] | None) -> dict[str, str]:
    """Return the description of each command by name."""
    return {} if commands is None else {pseudo.dest: pseudo.help or "" for pseudo in commands._choices_actions}


def shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments that help lists."""
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]


def about_of(action: argparse.Action) -> str:
    """Return the help of an argument, on one line."""
    return re.sub(r"\s+", " ", action.help or "").replace("%%", "%")
