"""Completion scripts for bash, zsh and fish, the man page, and the topics of `kwire help`; made from the parser."""

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


TOPICS: dict[str, tuple[str, str]] = {
    "input": (
        "what kwire reads",
        "Any number of files, or - for standard input; folders with -r. What a file is,\n"
        "its content says: raw frames (an int32 size, then so many bytes), hex text, a\n"
        "fixture. A response without its request needs --as, such as --as Metadata:12;\n"
        "--guess finds what it could be. --body reads one body without size and header.",
    ),
    "output": (
        "lines, trees, JSON",
        "decode prints a line for each of many frames, all fields with -v or for a single\n"
        "frame. --jsonl prints one object a line, whose shape is fixed; --json one array.\n"
        "Colours, and a pager ($PAGER, else less -FRX), on terminals only; NO_COLOR\n"
        "is heeded. A control character is never printed raw: it is written as \\u001b.",
    ),
    "exit": (
        "exit codes",
        "0    all is well\n"
        "1    something did not decode, differs, or would break: a frame that cannot be\n"
        "     read or is cut short, bytes that were not captured, a broken dump; also\n"
        "     if nothing in the input is Kafka's, or if replicas that kwire place looks\n"
        "     at could be spread more evenly. What other protocols say beside\n"
        "     Kafka's (ZooKeeper's, TLS) is named in a remark and changes nothing.\n"
        "2    usage, or input that cannot be read\n"
        "130  interrupted with Ctrl-C; the summary is printed all the same",
    ),
    "secrets": (
        "what is not printed",
        "Passwords, SASL tokens, salts, salted passwords, keys, delegation tokens and\n"
        "values of configurations that are passwords are printed as [hidden] with their\n"
        'size, as ** in dumps, as {"_hidden": size} in JSON, which kwire encode refuses.\n'
        "--show-secrets prints them. The bytes of a frame that does not decode are\n"
        "hidden unless it is known which message was meant, and that it holds none of\n"
        "these; the reason, with its sizes and offsets, is always shown. What records\n"
        "hold is not looked at: kwire redact takes that out of a dump.",
    ),
    "tls": (
        "captures of encrypted connections",
        "kwire does not decrypt: capture on a PLAINTEXT listener, or have tshark decrypt\n"
        "with the keys of the sessions. librdkafka, Python and Go clients can write them\n"
        "(SSLKEYLOGFILE, or KeyLogWriter in Go); Java takes an agent such as\n"
        "extract-tls-secrets or jSSLKeyLog. Then, for the first connection:\n"
        "  tshark -r FILE -o tls.keylog_file:KEYS -q -z follow,tls,raw,0 |\n"
        "    grep -E '^[[:space:]]*[0-9a-f]+$' | kwire decode -\n"
        "The capture must hold the beginning of the connection.",
    ),
    "filters": (
        "which frames are shown",
        "--api Metadata or --api Metadata:12, more than once for several;\n"
        "--client 'app-*'; --conn 10.0.0.1:9092; --errors; --from and --to with a time\n"
        "(2026-11-21T09:30:00, 09:30:00, seconds), or with frame numbers where the dump\n"
        "tells no times.",
    ),
    "versions": (
        "versions, releases, profiles",
        "kwire reads every version that Kafka released from 0.8 on. What a release\n"
        "speaks: kwire apis --release 3.9. What changed: kwire diff Fetch:9 Fetch:12.\n"
        "--profile KIP-36 reads what that KIP proposed, --schemas DIR specs of your own.",
    ),
}


def help_lines(topic: str | None) -> list[str]:
    """Return the text of a topic, or the list of topics; KeyError if there is no such topic.

    >>> help_lines("exit")[0]
    'exit: exit codes'
    """
    if topic is None:
        return ["kwire help TOPIC, or kwire COMMAND --help. Topics:", ""] + [
            f"  {name:<10}{about}" for name, (about, _) in TOPICS.items()
        ]
    about, text = TOPICS[topic]
    return [f"{topic}: {about}", "", *text.splitlines()]


def manual(parser: argparse.ArgumentParser, version: str) -> str:
    """Return the man page, in the language of man(7)."""
    lines = [f'.TH KWIRE 1 "" "kwire {version}" "User Commands"', ".SH NAME"]
    lines += [
        r"kwire \- decode and encode Apache Kafka's wire protocol",
        ".SH SYNOPSIS",
        ".B kwire",
        r"COMMAND [OPTIONS] [FILE...]",
    ]
    for one in words_of(parser):
        lines += [".SH OPTIONS"] if not one.path else [f".SS {_roff(' '.join(('kwire', *one.path)))}"]
        lines += _entries(one.options)
        lines += [] if one.path else [".SH COMMANDS"]
        lines += _entries(one.commands)
    for name, (about, text) in TOPICS.items():
        lines += [f".SH {_roff(name.upper())}", _roff(about), ".nf", *map(_roff, text.splitlines()), ".fi"]
    return "\n".join(lines) + "\n"


def _entries(words: dict[str, str]) -> list[str]:
    return [line for word, about in words.items() for line in (".TP", f".B {_roff(word)}", _roff(about) or r"\&")]


def _roff(text: str) -> str:
    r"""Write text so that man takes none of it for a request.

    >>> print(_roff("--body"), _roff(".x"), _roff("a\\b"))
    \-\-body \&.x a\eb
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text
