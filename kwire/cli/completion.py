"""Completion in bash, zsh and fish: scripts that ask `kwire --complete` which words fit at the cursor.

Options and commands come from the parser; apis, versions, releases and error codes from the specs; topics, clients and
fields from the first frames of the files on the line.
"""

from __future__ import annotations

import argparse
import re
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ..caches import lazy_pattern
from ..errors import KwireError
from .help import TOPICS, about_of, commands_of, names_in, shown

if TYPE_CHECKING:
    from ..display_filter import Token
    from ..protocol import Result
    from ..spec.model import MessageSpec, StructSpec

# Why no library: shtab's scripts are static, so they cannot complete the topics of a file, and in bash they do not
# complete the version after a colon (Metadata:1).
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
compdef _kwire kwire
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
MOST_FRAMES, MOST_SECONDS = 5_000, 1.0  # that are read of the files on the line
SAFE = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # names from files that need no quoting in a shell
Found = dict[str, str]  # a word that fits at the cursor -> its description


def complete(shell: str, line: str, parser: argparse.ArgumentParser) -> list[str]:
    """Return the words that fit at the end of a command line, formatted for a script of `SCRIPTS`; an empty list for
    files.

    >>> from kwire.cli.main import parser_for
    >>> complete("bash", "kwire schema leaderandisrre", parser_for(["schema"]))
    ['LeaderAndIsrRequest', 'LeaderAndIsrResponse']
    """
    (words, quote), inner = _split(line), commands_of(parser)
    if len(words) > 2 and inner is not None and words[1] not in inner.choices and words[1][:1] not in ("-", ""):
        words.insert(1, "decode")  # kwire FILE
    found = _Line(words[1:-1], words[-1], parser).found() if len(words) > 1 else {}
    if quote:
        found = {word: about for word, about in found.items() if quote not in word}
    if shell == "fish":
        return [f"{word}\t{about}" for word, about in found.items()]
    if shell == "zsh":
        return [word.replace(":", "\\:") + (f":{about}" if about else "") for word, about in found.items()]
    # bash ends a word at an unquoted colon or equals sign, and replaces only the text after the last of them.
    behind = 0 if quote else max(words[-1].rfind(":"), words[-1].rfind("=")) + 1
    return [word[behind:] for word in found]


def _split(line: str) -> tuple[list[str], str]:
    """Split a line at blanks; the last word is the one to complete, and may be empty. Also return the quote that is
    open at the end of the line, or an empty string.
    """
    for quote in ("", "'", '"'):
        with suppress(ValueError):
            words = shlex.split(line + quote)
            return ([*words, ""] if not quote and (not line or line[-1].isspace()) else words), quote
    return line.split(), ""  # a backslash at the end


@dataclass
class _Line:
    """The words before the cursor, and the word at the cursor."""

    before: list[str]
    word: str
    parser: argparse.ArgumentParser
    path: tuple[str, ...] = ()
    positionals: list[str] = field(default_factory=list)
    commands: Found = field(init=False)

    def __post_init__(self) -> None:
        self.commands = names_in(commands_of(self.parser))

    def found(self) -> Found:
        """Return the words that may follow at the cursor."""
        waiting = self._walk()
        if waiting is not None:
            return self._values(waiting)
        actions = shown(self.parser)
        if self.word.startswith("-"):
            return _matching(self.word, {name: about_of(one) for one in actions for name in one.option_strings})
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

    def _values(self, action: argparse.Action) -> Found:
        if isinstance(action, argparse._SubParsersAction):
            return _matching(self.word, names_in(action))
        if action.choices:
            return _matching(self.word, dict.fromkeys(map(str, action.choices), ""))
        names = action.option_strings or [f"{' '.join(self.path)} {action.dest}"]
        values = next((VALUES[name] for name in names if name in VALUES), None)
        if values is None:
            return {}
        if values in LISTS:
            done, comma, word = self.word.rpartition(",")
            return {f"{done}{comma}{one}": about for one, about in _matching(word, values(self)).items()}
        return _matching(self.word, values(self))

    @property
    def files(self) -> list[str]:
        """The files on the line."""
        return [word for word in self.before if Path(word).is_file()]


def _matching(word: str, found: Found) -> Found:
    return {one: about for one, about in found.items() if one.casefold().startswith(word.casefold())}


def _apis(line: _Line) -> Found:
    """Return the names of apis and messages, or the versions after a colon."""
    from ..spec.catalog import catalog_for

    catalog = catalog_for()
    name, colon, _ = line.word.partition(":")
    if not colon:
        return dict.fromkeys((*catalog.apis(), *(catalog.names() if line.word else ())), "")
    with suppress(KwireError):
        versions = catalog.spec(catalog.named(name)[0]).versions
        return {f"{name}:{version}": "" for version in reversed(list(versions))}
    return {}


def _releases(line: _Line) -> Found:
    from ..spec.releases import releases

    return dict.fromkeys(reversed(releases().names), "")


def _codes(line: _Line) -> Found:
    from ..values import kind

    return {str(code): str(getattr(code, "about", "")) for code in kind("ErrorCode")}


def _profiles(line: _Line) -> Found:
    from ..spec.catalog import profiles

    return dict.fromkeys(profiles(), "")


def _columns(line: _Line) -> Found:
    from ..traffic import COLUMNS

    return dict.fromkeys(COLUMNS, "")


def _kinds(line: _Line) -> Found:
    from ..redaction import REASONS

    return dict(REASONS)


def _help_topics(line: _Line) -> Found:
    return {name: about for name, (about, _) in TOPICS.items()} | line.commands


def _topics(line: _Line) -> Found:
    from ..protocol import Request, Response
    from ..protocol.results import MessageSummary

    summary = MessageSummary()
    results = (result for result in _results(line.files) if isinstance(result, Request | Response))
    topics = (topic for result in results for topic in summary.facts(result.codec, result.message).topics)
    return {topic: "" for topic in topics if SAFE.fullmatch(topic)}


def _clients(line: _Line) -> Found:
    from ..protocol.results import client_of

    return {client: "" for client in map(client_of, _results(line.files)) if client and SAFE.fullmatch(client)}


def _fields(line: _Line) -> Found:
    """Return the properties of frames, and the fields of the messages in the files."""
    from ..codecs import places_in
    from ..display_filter import PROPERTIES

    codecs = {result.codec for result in _results(line.files) if result.codec is not None}
    fields = {path.rpartition(".")[2] for codec in codecs for path in places_in(codec)}
    return {name: one.about for name, one in PROPERTIES.items()} | dict.fromkeys(sorted(fields), "")


OPERATORS = {
    "==": "equal",
    "!=": "not equal",
    "<": "",
    "<=": "",
    ">": "",
    ">=": "",
    "in (": "one of a list",
    "not in (": "none of a list",
    "contains": "a part of a text",
    "matches": "a regular expression",
}


def _filter(line: _Line) -> Found:
    """Return the possible continuations of a display filter: fields, then operators, then values; each after the text
    so far.
    """
    from ..display_filter import FilterError, tokens

    text = line.word
    is_open = text.count('"') % 2 == 1
    start = text.rindex('"') if is_open else len(text) - len(re.search(r"[\w.\[\]]*$", text)[0])  # type: ignore[index]
    try:
        filter_ = _Filter(line, [token for token in tokens(text[:start]) if token.kind != "end"])
    except FilterError:
        return {}
    found = _matching(text[start:], filter_.next_words(text[start:]))
    # A single word is offered with its continuation as well, so that no shell closes the quote.
    if filter_.is_list and len(found) == 1:
        found = {f"{name}{sign}": about for name, about in found.items() for sign in (",", ")")}
    elif filter_.expected == "field" and len(found) == 1:
        found = {f"{name} {sign}": about for name in found for sign, about in OPERATORS.items()}
    return {text[:start] + word: about for word, about in found.items()}


class _Filter:
    """The words of a display filter before the cursor.

    Attributes:
        expected: what follows: `field`, `operator`, `value` or `end`, which means the end of a test.
        is_list: whether the next word is inside the parentheses of a list.
    """

    def __init__(self, line: _Line, words: list[Token]) -> None:
        self.line = line
        self.expected: str = "field"
        self.is_list: bool = False
        self._field = ""
        self._apis = [api for option, api in pairwise(line.before) if option == "--api"]
        for token in words:
            self._take(token)

    def _take(self, token: Token) -> None:
        from ..display_filter import OPERATORS as BEFORE_VALUES

        word, is_sign = str(token.value), token.kind in ("sign", "word")
        self.is_list = is_sign and (word == "," or (word == "(" and self.expected == "value"))
        if is_sign and word in ("and", "or"):
            self.expected = "field"
        elif token.kind == "path" and self.expected == "field":
            self._field, self.expected = word, "operator"
        elif is_sign and (word in BEFORE_VALUES or word == ","):
            self.expected = "value"
        elif not (is_sign and word in ("not", "(")):
            if self._field == "api" and token.kind in ("path", "text"):
                self._apis.append(word)
            self.expected = "end"

    def next_words(self, part: str) -> Found:
        """Return the possible next words; `part` is the beginning of the word."""
        if self.expected == "end":
            return dict.fromkeys(("and", "or"), "")
        if self.expected == "operator":
            return OPERATORS
        return self._fields(part) if self.expected == "field" else self._values()

    def _specs(self) -> list[MessageSpec]:
        """Return the specs of the apis that the filter names, or else of the messages in the files on the line."""
        from ..spec.catalog import catalog_for

        names: dict[str, None] = {}
        for api in self._apis:
            with suppress(KwireError):
                names |= dict.fromkeys(catalog_for().named(api.partition(":")[0]))
        if self._apis:
            return [catalog_for().spec(name) for name in names]
        codecs = (result.codec for result in _results(self.line.files) if result.codec is not None)
        return list({codec.spec.name: codec.spec for codec in codecs}.values())

    def _fields(self, part: str) -> Found:
        """Return properties, and the matching fields of the named messages, or of all messages if the named ones have
        none.
        """
        from ..spec.catalog import catalog_for

        found = self._fields_of(self._specs(), part)
        catalog = catalog_for()
        return found if _matching(part, found) else self._fields_of(map(catalog.spec, catalog.names()), part)

    def _fields_of(self, specs: Iterable[MessageSpec], part: str) -> Found:
        from ..display_filter import PROPERTIES

        whole = {path: "" for spec in specs for path in _paths(spec.struct)}
        if "." in part or "[" in part:
            return whole
        leaves = dict.fromkeys(sorted({path.rpartition(".")[2].removesuffix("[]") for path in whole}), "")
        return {name: one.about for name, one in PROPERTIES.items()} | leaves

    def _values(self) -> Found:
        if self._field == "api":
            return _apis(_Line([], "", self.line.parser))
        if self._field == "type":
            return dict.fromkeys(("request", "response", "token", "undecodable"), "")
        if self._field == "client_id":
            return {f'"{client}"': "" for client in _clients(self.line)}
        return self._field_values()

    def _field_values(self) -> Found:
        """Return the named values of a field, or the topics in the files."""
        from ..display_filter import kind_name, parse_path
        from ..values import kind_of

        try:
            path = parse_path(self._field)
        except KwireError:
            return {}
        fields = [(spec, member) for spec in self._specs() for member in path.fields(spec)]
        kinds = {kind_of(spec.name, member.owner, member.json_name) for spec, member in fields} - {None}
        found = {str(value): "" for kind in kinds for value in kind or ()}
        if any(kind_name(member) == "boolean" for _, member in fields):
            found |= dict.fromkeys(("true", "false"), "")
        if any(member.entity_type == "topicName" for _, member in fields):
            found |= {f'"{topic}"': "" for topic in _topics(self.line)}
        return found


def _paths(struct: StructSpec, above: str = "") -> Iterator[str]:
    """Yield the paths of all fields of a struct in the syntax of filters: `topics[].name`."""
    for member in struct.fields:
        path = f"{above}{member.attribute}" + "[]" * (member.is_array and member.struct is not None)
        yield path
        if member.struct is not None:
            yield from _paths(member.struct, f"{path}.")


def _results(files: Iterable[str]) -> Iterator[Result]:
    """Decode the first frames of files, within the time limit of a completion."""
    from ..input import open_dump
    from ..protocol import FrameDecoder

    until = time.monotonic() + MOST_SECONDS
    for file in files:
        with suppress(KwireError, OSError), open_dump(file) as dump:
            decoder = FrameDecoder()
            for frame in islice(dump.frames, MOST_FRAMES):
                yield decoder.decode(frame)
                if time.monotonic() > until:
                    return


# How to complete the value of an option, or the argument of a command.
VALUES: dict[str, Callable[[_Line], Found]] = {
    **dict.fromkeys(("--api", "--as", "--template", "schema names", "diff names", "apis names", "call api"), _apis),
    **dict.fromkeys(("--release", "--removed-in"), _releases),
    **dict.fromkeys(("--topic", "--log-of"), _topics),
    "--client": _clients,
    "--where": _filter,
    **dict.fromkeys(("--fields", "--sort"), _fields),
    "--by": _columns,
    "--profile": _profiles,
    "--keep": _kinds,
    "errors names": _codes,
    "help topic": _help_topics,
}
LISTS = (_fields, _columns, _kinds)  # with commas between
