"""The options that select frames (--where, --api, --client, --conn, --errors, --from, --to), and their test.

The language of --where is in `kwire.query`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase
from ipaddress import ip_address

from ...protocol import Frame, Request, Response, Result, Undecodable
from ...protocol.message_summary import MessageSummary
from ...protocol.results import client_of
from ...query.display_filter import DisplayFilter, parse_filter
from ...schema.catalog import Catalog
from ..input.dump_decoder import PushedFilter
from ..options.message_names import name_and_version, named_codecs
from ..options.usage_error import UsageError
from .time_span import TimeSpan

Test = Callable[[Result], bool]


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


def display_filter(options: argparse.Namespace, catalog: Catalog) -> DisplayFilter | None:
    """Return the filter of --where, parsed once per run; None without the option. Raises FilterError."""
    if options.where is not None and "display_filter" not in options:
        options.display_filter = parse_filter(options.where, catalog)
    found: DisplayFilter | None = getattr(options, "display_filter", None)
    return found


def pushed_filter(options: argparse.Namespace, catalog: Catalog) -> PushedFilter | None:
    """Return the part of --where that tests headers, so that frames it excludes are not decoded; None if there is none.

    Raises:
        FilterError: --where is not a valid display filter.
    """
    where = display_filter(options, catalog)
    if where is None or where.messages is None:
        return None
    return PushedFilter(lambda peek: where.may_hold(peek.api_key, bool(peek.is_request), catalog))


def filter_for(options: argparse.Namespace, catalog: Catalog, summary: MessageSummary) -> Test:
    """Return a function that tells whether a frame is shown; call it for all frames, in order.

    Raises:
        UsageError: a time is invalid. UnknownMessage, UnsupportedVersion: --api names nothing. FilterError.
    """
    tests: list[Test] = []
    if options.since is not None or options.until is not None:
        tests.append(TimeSpan(options.since, options.until))  # first, because it needs the first frame
    if options.api:
        tests.append(_any([_of_api(text, catalog) for text in options.api]))
    if options.client is not None:
        tests.append(lambda result: fnmatchcase(client_of(result) or "", options.client))
    if options.conn is not None:
        _check_address(options.conn)
        tests.append(lambda result: _is_on(result.frame, options.conn))
    if options.errors:
        tests.append(lambda result: has_error(result, summary))
    if (where := display_filter(options, catalog)) is not None:
        tests.append(where)
    return lambda result: all(test(result) for test in tests)


def has_error(result: Result, summary: MessageSummary) -> bool:
    """Whether a frame is undecodable or has an error code other than 0."""
    if isinstance(result, Undecodable):
        return result.is_failure
    if not isinstance(result, Request | Response):
        return False
    inside = result.inside if isinstance(result.inside, Request | Response) else result
    return any(summary.facts(one.codec, one.message).errors for one in (result, inside))


def _any(tests: list[Test]) -> Test:
    return lambda result: any(test(result) for test in tests)


def _of_api(text: str, catalog: Catalog) -> Test:
    names = {codec.spec.name for codec in named_codecs(text, catalog)}
    version = name_and_version(text)[1]

    def test(result: Result) -> bool:
        inside = getattr(result, "inside", None)
        return is_it(result) or (isinstance(inside, Request | Response) and is_it(inside))

    def is_it(result: Result) -> bool:
        codec = result.codec
        if codec is None or codec.spec.name not in names:
            return False
        return version is None or version in (codec.version, getattr(result, "api_version", None))

    return test


def _check_address(text: str) -> None:
    """Raise UsageError unless a text is an IP address or IP:PORT."""
    for candidate in (text, text.rpartition(":")[0]):
        with suppress(ValueError):
            ip_address(candidate.strip("[]"))
            return
    raise UsageError(f"--conn {text}: write the address of an endpoint, such as 10.0.0.1, 10.0.0.1:9092 or [::1]:9092")


def _is_on(frame: Frame, wanted: str) -> bool:
    """Whether one endpoint of a frame's connection is the wanted one: ip:port, or an IP address alone."""
    ends = (end for end in (frame.source.client, frame.source.broker) if end is not None)
    return any(wanted in (end, end.rpartition(":")[0], end.rpartition(":")[0].strip("[]")) for end in ends)
