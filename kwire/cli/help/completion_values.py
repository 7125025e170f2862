"""Values that completion offers: apis, versions, releases, error codes from the specs; topics, clients and fields
from the first frames of the files on the line.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from ...errors import KwireError
from ...runtime.lazy_patterns import lazy_pattern
from .command_line import Candidates, CommandLine
from .topics import TOPICS

if TYPE_CHECKING:
    from ...protocol import Result

MOST_FRAMES, MOST_SECONDS = 5_000, 1.0  # limits for reading the files on the line
SAFE = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # names that need no quoting in a shell


def complete_apis(line: CommandLine) -> Candidates:
    """Return the names of apis and messages, or the versions after a colon."""
    from ...schema.catalog import catalog_for

    catalog = catalog_for()
    name, colon, _ = line.word.partition(":")
    if not colon:
        return dict.fromkeys((*catalog.apis(), *(catalog.names() if line.word else ())), "")
    with suppress(KwireError):
        versions = catalog.spec(catalog.named(name)[0]).versions
        return {f"{name}:{version}": "" for version in reversed(list(versions))}
    return {}


def complete_releases(line: CommandLine) -> Candidates:
    """Return the releases of Kafka, the newest first."""
    from ...schema.releases import releases

    return dict.fromkeys(reversed(releases().names), "")


def complete_error_codes(line: CommandLine) -> Candidates:
    """Return Kafka's error codes."""
    from ...values import kind

    return {str(code): str(getattr(code, "about", "")) for code in kind("ErrorCode")}


def complete_profiles(line: CommandLine) -> Candidates:
    """Return the profiles of drafts."""
    from ...schema.catalog import profiles

    return dict.fromkeys(profiles(), "")


def complete_columns(line: CommandLine) -> Candidates:
    """Return the columns of `kwire stats`."""
    from ...statistics.traffic import COLUMNS

    return dict.fromkeys(COLUMNS, "")


def complete_kept_kinds(line: CommandLine) -> Candidates:
    """Return the kinds of data that `kwire redact` can keep."""
    from ...redact.redaction_rules import REASONS

    return dict(REASONS)


def complete_help_topics(line: CommandLine) -> Candidates:
    """Return the help topics and the commands."""
    return {name: about for name, (about, _) in TOPICS.items()} | line.commands


def complete_topics(line: CommandLine) -> Candidates:
    """Return the topics in the files on the line."""
    from ...protocol import Request, Response
    from ...protocol.message_summary import MessageSummary

    summary = MessageSummary()
    results = (result for result in first_results(line.files) if isinstance(result, Request | Response))
    topics = (topic for result in results for topic in summary.facts(result.codec, result.message).topics)
    return {topic: "" for topic in topics if SAFE.fullmatch(topic)}


def complete_clients(line: CommandLine) -> Candidates:
    """Return the client ids in the files on the line."""
    from ...protocol.results import client_of

    return {client: "" for client in map(client_of, first_results(line.files)) if client and SAFE.fullmatch(client)}


def complete_fields(line: CommandLine) -> Candidates:
    """Return the properties of frames, and the fields of the messages in the files."""
    from ...codecs.field_search import field_locations
    from ...query.frame_properties import PROPERTIES

    codecs = {result.codec for result in first_results(line.files) if result.codec is not None}
    fields = {path.rpartition(".")[2] for codec in codecs for path in field_locations(codec)}
    return {name: property_.about for name, property_ in PROPERTIES.items()} | dict.fromkeys(sorted(fields), "")


def first_results(files: Iterable[str]) -> Iterator[Result]:
    """Decode the first frames of files, within the time limit of a completion."""
    from ...capture.open_dump import open_dump
    from ...protocol import FrameDecoder

    until = time.monotonic() + MOST_SECONDS
    for file in files:
        with suppress(KwireError, OSError), open_dump(file) as dump:
            decoder = FrameDecoder()
            for frame in islice(dump.frames, MOST_FRAMES):
                yield decoder.decode(frame)
                if time.monotonic() > until:
                    return
