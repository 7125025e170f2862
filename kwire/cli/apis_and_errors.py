"""`kwire apis` lists apis, their keys and versions, and the releases that added and removed them; `kwire errors` lists
Kafka's error codes, by number, name or part of a name.

The exit codes of commands are in `main`, kwire's own exceptions in `kwire.errors`.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from typing import Any

from ..errors import UnknownMessage
from ..names import folded
from ..spec.catalog import catalog_for
from ..spec.releases import Api, first_release, releases, removed_in
from ..values import Value, kind
from .inputs_and_output import name_and_version
from .options import add_command, named_release


def add_apis(commands: Any, about: str) -> None:
    """Add `kwire apis` and its options."""
    parser = add_command(
        commands,
        "apis",
        about,
        "  kwire apis fetch\n  kwire apis --release 2.8\n",
        apis,
    )
    parser.add_argument("names", nargs="*", metavar="API", help="a key, a name, or a part of one; default: all")
    parser.add_argument("--release", help="the versions that this Kafka release supports")


def apis(options: argparse.Namespace) -> int:
    """Print the table of apis: key, name, versions, first and last release; for a single api, every change."""
    found, spoken = found_apis(options.names), named_release(options.release) if options.release else None
    print(f"{'key':>3}  {'api':<39}{'versions':<10}{'since':<11}removed in")
    for api in found:
        versions = spoken.versions(api.key) if spoken else _all_versions(api)
        if versions or options.names:
            until = removed_in(api.key) or ""
            print(f"{api.key:>3}  {api.name:<39}{versions!s:<10}{first_release(api.key):<11}{until}".rstrip())
    if len(found) == len(options.names) == 1 and found[0].is_named(options.names[0]) and not spoken:
        for name, versions in found[0].changes.items():
            print(f"     from {name:<10} {versions}")
    return 0


def found_apis(names: list[str]) -> list[Api]:
    """Return the apis with the given keys, names or parts of names; all apis if no names are given."""
    apis = [api for _, api in sorted(releases().apis.items())]
    found = {} if names else {api.key: api for api in apis}
    for text in names:
        name = name_and_version(text)[0]
        name = name if name.isdecimal() else re.sub("(?i)(?<=.)(request|response)$", "", name)
        exact = {api.key: api for api in apis if api.is_named(name)}
        near = exact or {api.key: api for api in apis if folded(name) in folded(api.name)}
        if not near:
            raise UnknownMessage("api", text, [api.name for api in apis])
        found |= near
    return [found[key] for key in sorted(found)]


def _all_versions(api: Api) -> str:
    spec = catalog_for().find(api.key, "request")
    return str(spec.versions) if spec else "none"


def add_errors(commands: Any, about: str) -> None:
    """Add `kwire errors` and its options."""
    parser = add_command(commands, "errors", about, "  kwire errors 56\n  kwire errors leader\n", errors)
    parser.add_argument("names", nargs="*", metavar="CODE", help="a number, a name, or a part of one; default: all")


def errors(options: argparse.Namespace) -> int:
    """Print error codes by number, name or part of a name."""
    codes = kind("ErrorCode")
    found = [code for word in options.names for code in _errors_like(codes, word)] if options.names else list(codes)
    for code in found:
        retry = {True: "retriable", False: "not retriable", None: "unknown"}[getattr(code, "retriable", None)]
        since = f", since {getattr(code, 'since', '')}" if getattr(code, "since", None) else ""
        print(f"{code.value:>4}  {code}  ({retry}{since})")
        if getattr(code, "about", ""):
            print(textwrap.fill(getattr(code, "about", ""), 78, initial_indent="      ", subsequent_indent="      "))
    return 0


def _errors_like(codes: type[Value], word: str) -> list[Value]:
    """Return the error codes with a number, a name, or a part of a name. Raises UnknownMessage if there is none."""
    try:
        code = codes(word)
        found = [code] if code.name else []
    except UnknownMessage:
        found = [code for code in codes if folded(word) in folded(str(code))]
    if not found:
        raise UnknownMessage("error code", word, [str(code) for code in codes])
    return found
