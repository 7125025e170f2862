"""Completion in bash, zsh and fish.

The scripts run `kwire --complete`, which prints the words that fit at the cursor. Options and commands come from
the parser, values from `completion_values`.
"""

from __future__ import annotations

import argparse

from .command_line import CommandLine, Complete, split_line
from .completion_values import (
    complete_apis,
    complete_clients,
    complete_columns,
    complete_error_codes,
    complete_fields,
    complete_help_topics,
    complete_kept_kinds,
    complete_profiles,
    complete_releases,
    complete_topics,
)
from .filter_completion import complete_filter
from .parser_words import commands_of

# Why no library: shtab's scripts are static, so they cannot complete the topics of a file, and in bash they do not
# complete the version after a colon (Metadata:1).
# zsh runs the file in fpath as the function at the first TAB, which then has to complete.
SCRIPTS = {
    "bash": """\
# bash completion for kwire: eval "$(kwire --print-completion bash)"
_kwire() { local IFS=$'\\n'; COMPREPLY=($(kwire --complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)); }
complete -o default -o bashdefault -F _kwire kwire
""",
    "zsh": """\
#compdef kwire
# zsh completion for kwire: eval "$(kwire --print-completion zsh)"
_kwire() {
  local -a found=("${(@f)$(kwire --complete zsh "${words[1,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then _describe kwire found -M 'm:{a-zA-Z}={A-Za-z}'; else _files; fi
}
if [[ "$funcstack[1]" == _kwire ]]; then _kwire "$@"; else compdef _kwire kwire; fi
""",
    "fish": """\
# fish completion for kwire: kwire --print-completion fish | source
function __kwire_complete
    set -l found (kwire --complete fish (commandline -cp | string collect) 2>/dev/null)
    test -n "$found" && printf '%s\\n' $found || __fish_complete_path (commandline -ct)
end
complete -c kwire -f -a '(__kwire_complete)'
""",
}
SHELLS = tuple(SCRIPTS)
# How to complete the value of an option, or the argument of a command.
VALUES: dict[str, Complete] = {
    **dict.fromkeys(
        ("--api", "--as", "--template", "schema names", "diff names", "apis names", "call api"), complete_apis
    ),
    **dict.fromkeys(("--release", "--removed-in"), complete_releases),
    **dict.fromkeys(("--topic", "--log-of"), complete_topics),
    "--client": complete_clients,
    "--where": complete_filter,
    **dict.fromkeys(("--fields", "--sort"), complete_fields),
    "--by": complete_columns,
    "--profile": complete_profiles,
    "--keep": complete_kept_kinds,
    "errors names": complete_error_codes,
    "help topic": complete_help_topics,
}
LISTS = (complete_fields, complete_columns, complete_kept_kinds)  # with commas between


def complete(shell: str, line: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return the words that fit at the end of a command line, formatted for a script of `SCRIPTS`; an empty list for
    files.

    >>> from kwire.cli.main import parser_for
    >>> complete("bash", "kwire schema leaderandisrre", parser_for(["schema"]))
    ['LeaderAndIsrRequest', 'LeaderAndIsrResponse']
    """
    (words, quote), inner = split_line(line), commands_of(parser)
    if len(words) > 2 and inner is not None and words[1] not in inner.choices and words[1][:1] not in ("-", ""):
        words.insert(1, "decode")  # kwire FILE
    candidates = CommandLine(words[1:-1], words[-1], parser, VALUES, LISTS).found() if len(words) > 1 else {}
    if quote:
        candidates = {word: about for word, about in candidates.items() if quote not in word}
    if shell == "fish":
        return [f"{word}\t{about}" for word, about in candidates.items()]
    if shell == "zsh":
        return [word.replace(":", "\\:") + (f":{about}" if about else "") for word, about in candidates.items()]
    # bash ends a word at an unquoted colon or equals sign, and replaces only the text after the last of them.
    behind = 0 if quote else max(words[-1].rfind(":"), words[-1].rfind("=")) + 1
    return [word[behind:] for word in candidates]
