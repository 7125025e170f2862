"""`kwire help`: topics that concern several commands; the man page; completion in bash, zsh and fish.

The completion scripts run `kwire --complete`, which prints the words that fit at the cursor. Options and commands come
from the parser; apis, versions, releases and error codes from the specs; topics, clients and fields from the first
frames of the files on the line.
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
from typing import TYPE_CHECKING, Any

from ..caches import lazy_pattern
from ..errors import KwireError, UnknownMessage
from .options import add_command

if TYPE_CHECKING:
    from ..display_filter import Token
    from ..protocol import Result
    from ..spec.model import MessageSpec, StructSpec


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    examples = "  kwire help\n  kwire help exit-codes\n  kwire help decode       the same as kwire decode --help\n"
    parser = add_command(commands, "help", about, examples, explain_topic)
    parser.set_defaults(commands=commands)
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=f"a command, or one of {', '.join(TOPICS)}")


def explain_topic(options: argparse.Namespace) -> int:
    """Print a topic, whose name may be abbreviated; or the options of a command, or the list of topics."""
    topic = options.topic
    if topic in options.commands.choices:
        options.commands.choices[topic].print_help()
        return 0
    found = [name for name in TOPICS if topic is not None and name.startswith(topic.casefold())]
    if topic is not None and len(found) != 1:
        raise UnknownMessage("topic", topic, list(TOPICS))
    print("\n".join(help_lines(found[0] if found else None)))
    return 0


TOPICS: dict[str, tuple[str, str]] = {
    "input": (
        "what kwire reads",
        "Any number of files, or - for standard input; folders with -r. The format is\n"
        "detected from the content: raw frames (an int32 size, then that many bytes), hex\n"
        "text, a fixture. A response without its request needs --as, such as --as\n"
        "Metadata:12; --guess lists the messages that it could be. --body reads one body\n"
        "without size and header.",
    ),
    "output": (
        "lines, trees, JSON",
        "decode prints a line for each of many frames, all fields with -v or for a single\n"
        "frame. --jsonl prints one object per line, in a fixed shape; --json one array.\n"
        "Colours and a pager ($PAGER, else less -FRX) are used on terminals only;\n"
        "NO_COLOR turns colours off. Control characters are escaped, such as \\u001b.",
    ),
    "exit-codes": (
        "what commands return to scripts",
        "0    done\n"
        "1    done, but something needs attention:\n"
        "       decode, explain,  a complete frame, record or batch did not decode; gaps,\n"
        "       report, pipeline  frames cut short and streams of other protocols are\n"
        "                         counted separately and do not cause this code;\n"
        "                         a compressed file that breaks off does\n"
        "       decode --guess    no message fits a frame\n"
        "       check             something is not encoded to the same bytes, or a file\n"
        "                         beside a segment contradicts it\n"
        "       diff              there are differences\n"
        "       stats             --removed-in: a client breaks with that release\n"
        "       encode            a value could not be encoded; the others were\n"
        "       slice             no frame matches\n"
        "       call              the response has an error code\n"
        "       place             replicas could be spread more evenly; --verify: the\n"
        "                         plan is not carried out yet\n"
        "       assign            the leader sent a different assignment\n"
        "       spec check        a spec is not valid\n"
        "2    wrong usage, input that cannot be read, a broker that cannot be reached,\n"
        "     output that cannot be written: stderr says which and why\n"
        "130  interrupted with Ctrl-C; decode, stats and report first print or write\n"
        "     what was read until then. With --follow, Ctrl-C or SIGTERM acts as the end\n"
        "     of the file: 0 or 1. A pipe that is closed early (| head) is not an error.",
    ),
    "secrets": (
        "what is not printed",
        "Passwords, SASL tokens, salts, salted passwords, keys, delegation tokens and\n"
        "values of configurations that are passwords are printed as [hidden] with their\n"
        'size, as ** in dumps, as {"_hidden": size} in JSON, which kwire encode refuses.\n'
        "--show-secrets prints them. The bytes of a frame that does not decode are\n"
        "hidden unless its message is known and contains none of these; the reason, with\n"
        "sizes and offsets, is always shown. The contents of records are not masked:\n"
        "kwire redact removes them from a dump.",
    ),
    "tls": (
        "captures of encrypted connections",
        "With the keys of the sessions, tshark decrypts TLS 1.2 and 1.3 for kwire:\n"
        "  kwire decode --keylog KEYS FILE\n"
        "This runs tshark, which must be on the PATH, and shows only the TLS connections.\n"
        "To run tshark yourself, or for commands without --keylog:\n"
        "  tshark -r FILE -o tls.keylog_file:KEYS -q $(tshark -r FILE -Y tls \\\n"
        "    -T fields -e tcp.stream | sort -nur | sed 's/^/-z follow,tls,yaml,/') |\n"
        "    kwire decode -\n"
        "Clients write the file KEYS with SSLKEYLOGFILE (librdkafka, Python), with\n"
        "KeyLogWriter (Go), or in Java with an agent such as extract-tls-secrets or\n"
        "jSSLKeyLog. The capture must contain the beginning of each connection. tshark's\n"
        "output has times, so latencies are shown, but at most one of the two addresses\n"
        "of a connection.",
    ),
    "filters": (
        "which frames are shown",
        "--where 'FILTER' compares fields, as Wireshark's display filters do:\n"
        '  topics[].name == "orders" and error_code != 0\n'
        '  api == "Fetch" and latency > 20ms and not client_id matches "^test-"\n'
        "Operators: == != < <= > >= contains matches in, and or not ( ). A field has the\n"
        "path that kwire schema shows, or the end of it. Properties of the frame:\n"
        "  api, api_key, version, type, correlation_id, client_id, software, size,\n"
        "  latency, request_frame, response_frame, time, frame, client, broker,\n"
        "  connection, faults, undecodable\n"
        "Filters as options: --api Metadata or --api Metadata:12, repeated for several\n"
        "apis; --client 'app-*'; --conn 10.0.0.1:9092; --errors; --from and --to with a\n"
        "time (2026-11-21T09:30:00, 09:30:00, seconds), or with frame numbers if the\n"
        "dump has no times. A frame must match all given filters.",
    ),
    "versions": (
        "versions, releases, profiles",
        "kwire reads every version that Kafka released from 0.8 on. kwire apis --release\n"
        "3.9 lists what a release supports, kwire diff Fetch:9 Fetch:12 what changed.\n"
        "--profile KIP-36 reads the layouts that the KIP proposed, --schemas DIR your\n"
        "own specs.",
    ),
}


def help_lines(topic: str | None) -> list[str]:
    """Return the text of a topic, or the list of topics; KeyError if there is no such topic.

    >>> help_lines("versions")[0]
    'versions: versions, releases, profiles'
    """
    if topic is None:
        return ["kwire help TOPIC, or kwire COMMAND --help. Topics:", ""] + [
            f"  {name:<12}{about}" for name, (about, _) in TOPICS.items()
        ]
    about, text = TOPICS[topic]
    return [f"{topic}: {about}", "", *text.splitlines()]


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
    return next((one for one in parser._actions if isinstance(one, argparse._SubParsersAction)), None)


def names_in(commands: argparse._SubParsersAction[argparse.ArgumentParser] | None) -> dict[str, str]:
    """Return the description of each command by name."""
    return {} if commands is None else {pseudo.dest: pseudo.help or "" for pseudo in commands._choices_actions}


def shown(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments that help lists."""
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]


def about_of(action: argparse.Action) -> str:
    """Return the help of an argument, on one line."""
    return re.sub(r"\s+", " ", action.help or "").replace("%%", "%")


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
    r"""Escape text so that man does not read any of it as a request.

    >>> print(_roff("--body"), _roff(".x"), _roff("a\\b"))
    \-\-body \&.x a\eb
    """
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text


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
MOST_FRAMES, MOST_SECONDS = 5_000, 1.0  # limits for reading the files on the line
SAFE = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # names that need no quoting in a shell
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
    from ..redact.redaction_rules import REASONS

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
    from ..capture.open_dump import open_dump
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
