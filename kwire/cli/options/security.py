"""TLS and SASL of connections to a live broker: the options, and the settings that they give."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import DumpError
from .usage_error import UsageError

if TYPE_CHECKING:
    from ...client.security import Security

PASSWORD = "KWIRE_SASL_PASSWORD"  # environment variable


def add_security(parser: argparse.ArgumentParser, title: str = "TLS and SASL of a live broker") -> None:
    """Add the options of connections to brokers; `security_of` reads them."""
    from ...client.security import PROTOCOLS  # most commands have no need of sockets

    group = parser.add_argument_group(title)
    group.add_argument(
        "--security-protocol", choices=PROTOCOLS, type=str.upper, metavar="NAME", help=f"{', '.join(PROTOCOLS)}"
    )
    group.add_argument("--sasl-mechanism", metavar="NAME", help="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; default: PLAIN")
    group.add_argument("--sasl-username", metavar="NAME", help="the user")
    group.add_argument(
        "--sasl-password-file",
        metavar="FILE",
        help=f"its first line; or the variable {PASSWORD}",
    )
    group.add_argument("--ca", metavar="FILE", help="authorities to trust (PEM); default: the system's")
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
    from ...client.security import PLAINTEXT, Security
    from ...protocol.sasl.mechanisms import MECHANISMS, check_mechanism

    protocol = options.security_protocol or PLAINTEXT.protocol
    _check_security(options, protocol, is_live)
    mechanism = (options.sasl_mechanism or MECHANISMS[0]).upper()
    try:
        check_mechanism(mechanism)
    except ValueError as error:
        raise UsageError(str(error)) from None
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
