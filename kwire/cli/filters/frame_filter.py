"""The options that select frames (--where, --api, --client, --conn, --errors, --from, --to), and their query.

The language of --where is in `kwire.query`.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from fnmatch import fnmatchcase
from ipaddress import ip_address

from ...query.display_filter import parse_filter
from ...query.expression import Comparison, Every, Expression, Negation, Some
from ...query.field_path import FieldPath
from ...query.frame_context import FrameContext
from ...query.query import Query
from ...schema.catalog import Catalog
from ..options.message_names import name_and_version, named_codecs
from ..options.usage_error import UsageError
from .time_span import TimeSpan


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose frames."""
    group = parser.add_argument_group("which frames")
    group.add_argument("--where", metavar="FILTER", help="frames that match a display filter: 'latency > 20ms'")
    group.add_argument("--api", action="append", metavar="NAME[:VERSION]", help="frames of this api; may be repeated")
    group.add_argument("--client", metavar="GLOB", help="frames of clients with a matching id, such as 'app-*'")
    group.add_argument("--conn", metavar="IP[:PORT]", help="frames of connections with this endpoint")
    group.add_argument("--errors", action="store_true", help="frames with an error code, or undecodable")
    group.add_argument(
        "--from", dest="since", metavar="WHEN", help="frames from a time (ISO, seconds) or frame number on"
    )
    group.add_argument("--to", dest="until", metavar="WHEN", help="frames up to a time or frame number")


def query_for(options: argparse.Namespace, catalog: Catalog, context: FrameContext | None = None) -> Query:
    """Return the query that all options which choose frames or records make together.

    Raises:
        UsageError: a time is invalid. UnknownMessage, UnsupportedVersion: --api names nothing. FilterError.
    """
    parts: list[Expression] = []
    if options.api:
        parts.append(Some(tuple(_of_api(text, catalog) for text in options.api)))
    if options.client is not None:
        parts.append(_of_client(options.client))
    if options.conn is not None:
        parts.append(_of_connection(options.conn))
    if options.errors:
        parts.append(Comparison(_path("(errors)", "--errors"), bool))
    if options.where is not None:
        parts.append(parse_filter(options.where, catalog).expression)
    given = options.since is not None or options.until is not None
    span = TimeSpan(options.since, options.until) if given else None
    return Query(Every(tuple(parts)) if parts else None, span, context)


def _path(name: str, text: str) -> FieldPath:
    """Return the path of a property that an option names."""
    return FieldPath(text, ((name, None),))


def _of_api(text: str, catalog: Catalog) -> Comparison:
    names = frozenset(codec.spec.name for codec in named_codecs(text, catalog))
    version = name_and_version(text)[1]

    def holds(call: tuple[str, frozenset[int]]) -> bool:
        return call[0] in names and (version is None or version in call[1])

    return Comparison(_path("(call)", "--api"), holds)


def _of_client(pattern: str) -> Expression:
    path = _path("client_id", "--client")
    matching = Comparison(path, lambda client_id: fnmatchcase(client_id, pattern))
    if not fnmatchcase("", pattern):
        return matching
    return Some((matching, Negation(Comparison(path, lambda client_id: True))))


def _of_connection(wanted: str) -> Some:
    """Return the test whether one endpoint of a connection is the wanted one: ip:port, or an IP address alone."""
    _check_address(wanted)

    def holds(end: str) -> bool:
        host = end.rpartition(":")[0]
        return wanted in (end, host, host.strip("[]"))

    return Some(tuple(Comparison(_path(name, "--conn"), holds) for name in ("client", "broker")))


def _check_address(text: str) -> None:
    """Raise UsageError unless a text is an IP address or IP:PORT."""
    for candidate in (text, text.rpartition(":")[0]):
        with suppress(ValueError):
            ip_address(candidate.strip("[]"))
            return
    raise UsageError(f"--conn {text}: write the address of an endpoint, such as 10.0.0.1, 10.0.0.1:9092 or [::1]:9092")
