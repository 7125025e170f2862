"""Users and passwords, SASL mechanisms, TLS and ACLs of the served brokers, from options."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...broker.security.principals import principal
from ...errors import DumpError, excerpt
from ...protocol.sasl.mechanisms import MECHANISMS
from ..options.usage_error import UsageError


def users_in(file: str) -> dict[str, str]:
    """Read users and passwords: one NAME:PASSWORD per line; skip empty lines and lines that begin with #.

    Raises:
        DumpError: a line has no name or no password, or repeats a user. The message contains no password.
        OSError: it cannot be read.
    """
    passwords: dict[str, str] = {}
    for number, line in enumerate(Path(file).read_text("utf-8").splitlines(), 1):
        name, _, password = line.partition(":")
        if not line.strip() or line.startswith("#"):
            continue
        if not name.strip() or not password or name in passwords:
            problem = f"line {number} repeats a user" if name in passwords else f"line {number} is not a user"
            raise DumpError(problem, file=file, hint="write NAME:PASSWORD, each user once")
        passwords[name] = password
    if not passwords:
        raise DumpError("it has no user", file=file, hint="write one NAME:PASSWORD per line")
    return passwords


def security_settings(options: argparse.Namespace, configs: Mapping[str, str]) -> dict[str, Any]:
    """Return the security settings; raises UsageError, DumpError or OSError if they are invalid."""
    if not options.sasl_users and (options.sasl_mechanisms or options.max_reauth):
        raise UsageError("without --sasl-users clients do not authenticate")
    if not options.tls_cert and (options.tls_key or options.tls_client_ca):
        raise UsageError("without --tls-cert there is no TLS")
    has_acls = options.acls or bool(configs.get("authorizer.class.name"))
    if not has_acls and (options.super_user or options.allow_without_acls):
        raise UsageError("without --acls every user may do everything")
    if not 0 <= options.max_reauth < float("inf"):
        raise UsageError("--max-reauth takes seconds")
    mechanisms = tuple((options.sasl_mechanisms or ",".join(MECHANISMS)).upper().split(","))
    if unknown := [mechanism for mechanism in mechanisms if mechanism not in MECHANISMS]:
        raise UsageError(f"there is no mechanism {excerpt(unknown[0])}; there are {', '.join(MECHANISMS)}")
    given = {
        "passwords": users_in(options.sasl_users) if options.sasl_users else {},
        "sasl_mechanisms": mechanisms if options.sasl_users else (),
        "max_reauth": options.max_reauth or None,
        "tls": bool(options.tls_cert),
        "authorizer": options.acls or None,
        "super_users": tuple(map(principal, options.super_user)) or None,
        "allow_without_acls": options.allow_without_acls or None,
    }
    return {name: value for name, value in given.items() if value is not None}
