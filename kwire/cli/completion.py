"""Completion scripts for bash, zsh and fish, made from the parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass

SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Words:
    """What may follow some words of a command line: commands, options with their help, whether files do."""

    path: tuple[str, ...]
    commands: dict[str, str]
    options: dict[str, str]
    choices: dict[str, tuple[str, ...]]
    files: bool


def completion(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the script for a shell of `SHELLS`.

    >>> completion("fish", argparse.ArgumentParser("kwire")).splitlines()[-1]
    "complete -c kwire -n '__kwire_at ' -l help -d 'show this help message and exit'"
    """
    words = list(words_of(parser))
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](words)


def words_of(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Words]:
    """Yield the words of a parser, then those of its commands."""
    commands, options, choices = {}, {}, {}
    files, inner = False, []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            abouts = {pseudo.dest: pseudo.help or "" for pseudo in action._choices_actions}
            commands = {name: abouts.get(name, "") for name in action.choices}
            inner = list(action.choices.items())
            continue
        about = re.sub(r"\s+", " ", action.help or "").replace("%%", "%")
        options.update(dict.fromkeys(action.option_strings, about))
        if action.choices:
            choices.update({option: tuple(map(str, action.choices)) for option in action.option_strings})
        files |= not action.option_strings
    yield Words(path, commands, options, choices, files)
    for name, child in inner:
        yield from words_of(child, (*path, name))


def _bash(words: list[Words]) -> str:
    cases = "\n".join(
        f"    '{' '.join(one.path)}') words='{' '.join((*one.commands, *one.options))}' ;;" for one in words
    )
    values = {option: choices for one in words for option, choices in one.choices.items()}
    options = "\n".join(
        f"    {option}) COMPREPLY=($(compgen -W '{' '.join(choices)}' -- \"$cur\")); return ;;"
        for option, choices in sorted(values.items())
    )
    paths = "|".join(f"'{' '.join(one.path)}'" for one in words if one.path)
    return f"""\
# bash completion for kwire: eval "$(kwire --print-completion bash)"
_kwire() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}" at='' words='' word try
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    try="${{at:+$at }}$word"
    case "$try" in {paths}) at="$try" ;; esac
  done
  case "$prev" in
{options}
  esac
  case "$at" in
{cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -o bashdefault -F _kwire kwire
"""


def _zsh(words: list[Words]) -> str:
    cases = []
    for one in words:
        lines = [_zsh_word(word, about) for word, about in (*one.commands.items(), *one.options.items())]
        cases.append(f"    {_quote(' '.join(one.path))}) words_of=({' '.join(lines)}) ;;")
    paths = "|".join(_quote(" ".join(one.path)) for one in words if one.path)
    nl = "\n"
    return f"""\
#compdef kwire
# zsh completion for kwire: eval "$(kwire --print-completion zsh)"
_kwire() {{
  local at='' word try
  local -a words_of
  for word in ${{words[2,CURRENT-1]}}; do
    try="${{at:+$at }}$word"
    case "$try" in {paths}) at="$try" ;; esac
  done
  case "$at" in
{nl.join(cases)}
  esac
  _describe kwire words_of
  _files
}}
compdef _kwire kwire
"""


def _fish(words: list[Words]) -> str:
    lines = [
        "# fish completion for kwire: kwire --print-completion fish | source",
        "function __kwire_at",
        "    set -l at",
        "    for word in (commandline -opc)[2..]",
        '        contains -- "$at $word" ' + " ".join(_quote(" " + " ".join(one.path)) for one in words if one.path),
        '        and set at "$at $word"',
        "    end",
        '    test "$at" = (test -n "$argv[1]"; and echo " $argv[1]"; or echo "")',
        "end",
    ]
    for one in words:
        where = f"complete -c kwire -n '__kwire_at {' '.join(one.path)}'" if len(one.path) < 2 else ""
        where = where or f"complete -c kwire -n '__kwire_at \"{' '.join(one.path)}\"'"
        lines += [f"{where} -a {name} -d {_quote(about)}" for name, about in one.commands.items()]
        for option, about in one.options.items():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            values = f" -xa {_quote(' '.join(one.choices[option]))}" if option in one.choices else ""
            lines.append(f"{where} {flag}{values} -d {_quote(about)}")
    return "\n".join(lines) + "\n"


def _zsh_word(word: str, about: str) -> str:
    return _quote(f"{word}:{about}")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
