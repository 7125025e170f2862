"""Options that several commands share, and parsers whose help begins with examples."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DumpError, KwireError, excerpt
from .terminal import remark

if TYPE_CHECKING:
    from ..client.security import Security
    from ..spec.releases import Release

PASSWORD = "KWIRE_SASL_PASSWORD"  # environment variable
MOST_SECONDS = 1_000_000
Run = Callable[[argparse.Namespace], int]


class UsageError(KwireError):
    """Raised for options that cannot be combined or have invalid values."""


class Parser(argparse.ArgumentParser):
    """A parser whose help begins with examples instead of the usage line, and that accepts options between files."""

    _is_intermixing = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Parse `decode a.pcap --jsonl b.pcap`, too: argparse alone accepts files only before or after all options."""
        # Parsing twice would treat arguments after -- as options.
        if self._is_intermixing or self._subparsers is not None or "--" in (args or ()):
            return super().parse_known_args(args, namespace)
        self._is_intermixing = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixing = False

    def format_help(self) -> str:
        """Write description and examples, then usage, then the options."""
        formatter = self._get_formatter()
        formatter.add_text(self.description)
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        for group in self._action_groups:
            formatter.start_section(group.title)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        return formatter.format_help()


def add_command(commands: Any, name: str, about: str, examples: str, run: Run) -> argparse.ArgumentParser:
    """Add a command. Its help begins with examples; `run` receives the options and returns the exit code."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=f"{about[:1].upper()}{about[1:]}.\n\nExamples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that read dumps."""
    add_files(parser)
    parser.add_argument(
        "--as",
        dest="named",
        metavar="API:VERSION",
        help="api of a single response, or of --body: Metadata:12",
    )
    parser.add_argument("--log-of", metavar="TOPIC", help="topic of the log: __consumer_offsets, ...")
    parser.add_argument("--body", action="store_true", help="the input is one body, without size and header")
    add_secrets(parser)
    add_profile(parser)


def add_secrets(parser: argparse.ArgumentParser) -> None:
    """Add --show-secrets."""
    parser.add_argument("--show-secrets", action="store_true", help="also print passwords, proofs, keys and tokens")


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the dumps that a command reads."""
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="frames, hex text, captures, logs; - is stdin",
    )
    parser.add_argument("--hex", metavar="TEXT", help="hex text, in any form accepted in files")
    parser.add_argument("-r", "--recursive", action="store_true", help="also read all files of folders")


def add_keylog(parser: argparse.ArgumentParser) -> None:
    """Add --keylog."""
    parser.add_argument("--keylog", metavar="FILE", help="TLS session keys (SSLKEYLOGFILE); tshark decrypts")


def add_raw(parser: argparse.ArgumentParser) -> None:
    """Add --raw."""
    parser.add_argument("--raw", action="store_true", help="write raw frames, without connections and times")


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose specs."""
    parser.add_argument("--profile", metavar="KIP", help="layouts that KIP-36, KIP-112 or KIP-879 proposed")
    parser.add_argument("--schemas", metavar="DIR", help="your own specs, or a Kafka checkout, used first")


def add_colour(parser: argparse.ArgumentParser) -> None:
    """Add --color."""
    choices = ("auto", "always", "never")
    about = "auto (default: on a terminal), always or never"
    parser.add_argument("--color", metavar="WHEN", choices=choices, default="auto", help=about)


def add_security(parser: argparse.ArgumentParser, title: str = "TLS and SASL of a live broker") -> None:
    """Add the options of connections to brokers; `security_of` reads them."""
    from ..client.security import PROTOCOLS  # most commands have no need of sockets

    group = parser.add_argument_group(title)
    group.add_argument(
        "--security-protocol", choices=PROTOCOLS, type=str.upper, metavar="NAME", help=f"{', '.join(PROTOCOLS)}"
    )
    group.add_argument("--sasl-mechanism", metavar="NAME", help="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; default: PLAIN")
    group.add_argument("--sasl-username", metavar="NAME", help="the user")
    group.add_argument(
        "--sasl-password-file",
        metavar="FILE",
        help=f"has the password in its first line; unless given, the environment variable {PASSWORD} has it",
    )
    group.add_argument("--ca", metavar="FILE", help="authorities to trust (PEM); default: those of the system")
    group.add_argument("--cert", metavar="FILE", help="the client's certificate (PEM)")
    group.add_argument("--key", metavar="FILE", help="its private key, unless it is in the same file")


def security_of(options: argparse.Namespace, *, is_live: bool = True) -> Security:
    """Return the settings of TLS and SASL from the options.

    Args:
        options: the options, including those of `add_security`.
        is_live: whether there is a broker to connect to; without one, none of these options may be given.

    Raises:
        UsageError: the options contradict each other.
        DumpError, OSError: the password file is empty or cannot be read.
    """
    from ..client.security import PLAINTEXT, Security
    from ..protocol.sasl.mechanisms import MECHANISMS

    protocol = options.security_protocol or PLAINTEXT.protocol
    _check_security(options, protocol, is_live)
    mechanism = (options.sasl_mechanism or MECHANISMS[0]).upper()
    if mechanism not in MECHANISMS:
        raise UsageError(f"there is no SASL mechanism {mechanism!r} here; there are {', '.join(MECHANISMS)}")
    if not protocol.startswith("SASL"):
        return Security(protocol, ca=options.ca, cert=options.cert, key=options.key)
    password = _password(options.sasl_password_file)
    if not password:
        raise UsageError(f"{protocol} needs a password: --sasl-password-file FILE, or {PASSWORD} in the environment")
    return Security(protocol, mechanism, options.sasl_username, password, options.ca, options.cert, options.key)


def _check_security(options: argparse.Namespace, protocol: str, is_live: bool) -> None:
    """Raise UsageError if the options contradict each other."""
    sasl = any((options.sasl_mechanism, options.sasl_username, options.sasl_password_file))
    tls = any((options.ca, options.cert, options.key))
    if not is_live and (options.security_protocol or sasl or tls):
        raise UsageError("TLS and SASL are for a live broker, HOST:PORT: no connection is made here")
    if sasl and not protocol.startswith("SASL"):
        raise UsageError("SASL takes --security-protocol SASL_SSL, or SASL_PLAINTEXT where passwords may be read")
    if tls and not protocol.endswith("SSL"):
        raise UsageError("--ca, --cert and --key take --security-protocol SSL or SASL_SSL")
    if options.key and not options.cert:
        raise UsageError("--key is the key of a certificate: add --cert")
    if protocol.startswith("SASL") and not options.sasl_username:
        raise UsageError(f"{protocol} needs --sasl-username")


def _password(file: str | None) -> str:
    """Read the password from the first line of a file, or from the environment: other users can see command lines."""
    if file is None:
        return os.environ.get(PASSWORD, "")
    lines = Path(file).read_text("utf-8").splitlines()
    if not lines or not lines[0]:
        raise DumpError("its first line is empty", file=file, hint="write the password there")
    return lines[0]


def add_timeout(parser: argparse._ActionsContainer, default: float, covers: str) -> None:
    """Add --timeout: seconds for all that it covers together."""
    about = f"{covers}; default: {default:g}"
    parser.add_argument("--timeout", type=seconds, default=float(default), metavar="SECONDS", help=about)


def seconds(text: str) -> float:
    """Parse the value of an option in seconds; more than a system's timers can hold is an error, too."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{excerpt(text)}: write seconds, more than 0 and up to {MOST_SECONDS:,}")
    return value


def named_release(text: str) -> Release:
    """Find the release that --release names; if the text is ambiguous (`1`), print the chosen release to stderr.

    Raises UnknownMessage if there is none.
    """
    from ..spec.releases import release, releases

    found = release(text)
    if sum(name.startswith(f"{text}.") for name in releases().names) > 1:
        remark(f"release {text}: the newest that is known, {found.name}")
    return found
