"""The command line to complete: the words before the cursor, and the option or argument at the cursor."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .parser_words import about_of, commands_of, names_in, shown

Candidates = dict[str, str]  # a word that fits at the cursor -> its description
Complete = Callable[["CommandLine"], Candidates]


def split_line(line: str) -> tuple[list[str], str]:
    """Split a line at blanks; the last word is the one to complete, and may be empty. Also return the quote that is
    open at the end of the line, or an empty string.
    """
    for quote in ("", "'", '"'):
        with suppress(ValueError):
            words = shlex.split(line + quote)
            return ([*words, ""] if not quote and (not line or line[-1].isspace()) else words), quote
    return line.split(), ""  # a backslash at the end


@dataclass
class CommandLine:
    """The words before the cursor, and the word at the cursor."""

    before: list[str]
    word: str
    parser: argparse.ArgumentParser
    values: Mapping[str, Complete] = field(default_factory=dict)  # by option or argument
    lists: Collection[Complete] = ()  # those of the values that are joined by commas
    path: tuple[str, ...] = ()
    positionals: list[str] = field(default_factory=list)
    commands: Candidates = field(init=False)

    def __post_init__(self) -> None:
        self.commands = names_in(commands_of(self.parser))

    def found(self) -> Candidates:
        """Return the words that may follow at the cursor."""
        waiting = self._walk()
        if waiting is not None:
            return self._values(waiting)
        actions = shown(self.parser)
        if self.word.startswith("-"):
            return matching_words(
                self.word, {name: about_of(option) for option in actions for name in option.option_strings}
            )
        places = [action for action in actions if not action.option_strings]
        return self._values(places[min(len(self.positionals), len(places) - 1)]) if places else {}

    def _walk(self) -> argparse.Action | None:
        """Read the words before the cursor; return the option that waits for a value, if one does."""
        waiting, left = None, 0
        for word in self.before:
            if left:
                left -= 1
            elif word.startswith("-") and word != "-":
                waiting = self.parser._option_string_actions.get(word)
                nargs = 0 if waiting is None else waiting.nargs
                left = nargs if isinstance(nargs, int) else 1
            elif (inner := commands_of(self.parser)) is not None and word in inner.choices:
                self.parser, self.path = inner.choices[word], (*self.path, word)
            else:
                self.positionals.append(word)
        return waiting if left else None

    def _values(self, action: argparse.Action) -> Candidates:
        if isinstance(action, argparse._SubParsersAction):
            return matching_words(self.word, names_in(action))
        if action.choices:
            return matching_words(self.word, dict.fromkeys(map(str, action.choices), ""))
        names = action.option_strings or [f"{' '.join(self.path)} {action.dest}"]
        values = next((self.values[name] for name in names if name in self.values), None)
        if values is None:
            return {}
        if values in self.lists:
            done, comma, word = self.word.rpartition(",")
            return {f"{done}{comma}{value}": about for value, about in matching_words(word, values(self)).items()}
        return matching_words(self.word, values(self))

    @property
    def files(self) -> list[str]:
        """The files on the line."""
        return [word for word in self.before if Path(word).is_file()]


def matching_words(word: str, candidates: Candidates) -> Candidates:
    """Return the words that begin with a word, in any case."""
    return {
        candidate: about for candidate, about in candidates.items() if candidate.casefold().startswith(word.casefold())
    }
