"""`kwire call`: sends one request, with fields from the command line, to a broker, and prints the response."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from ...client.address import address
from ...client.connection import BrokerConnection
from ...client.deadline import Deadline
from ...client.read_only_apis import changes_state
from ...codecs.message_codec import codec_in
from ...errors import UnknownMessage, json_problem
from ...protocol import Response, encode_request
from ...protocol.message_summary import MessageSummary
from ...render.escaping import compact_json, json_text
from ...render.frame_tree import tree
from ...render.json_objects.frame_json import envelope
from ...render.json_objects.frame_records import envelope_with_records
from ..options.message_fields import message_of
from ..options.message_names import name_and_version
from ..options.output import add_colour
from ..options.registry import add_registry, count_undecoded, deserializer_of
from ..options.secrets import add_secrets, masker
from ..options.security import add_security, security_of
from ..options.specs import add_profile, catalog_of
from ..options.timeout import add_timeout
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from ..terminal.terminal_style import style_for

EXAMPLES = """\
  kwire call :9092 ApiVersions
  kwire call :9092 Metadata 'topics:=[{"name": "orders"}]'
  kwire call b1:9092 FindCoordinator 'coordinatorKeys:=["my-group"]'
  kwire call :9092 DeleteGroups:2 'groupsNames:=["old"]' --yes
  kwire call :9092 Metadata:12 --offline         print the bytes, send nothing
  kwire call b1:9093 Metadata --security-protocol SASL_SSL --ca ca.pem \\
      --sasl-username alice --sasl-password-file secret
  kwire call :9092 --hostile half-frame --timeout 1

The default version is the newest that both sides support. Fields that are not
given have their defaults. Exit code 1 if the response has an error code.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("address", nargs="?", metavar="HOST:PORT", help="a broker; :PORT is localhost")
    parser.add_argument("api", nargs="?", metavar="NAME[:VERSION]", help="the api")
    parser.add_argument(
        "members", nargs="*", default=[], metavar="FIELD=TEXT", help="a text field; FIELD:=JSON for other values"
    )
    parser.add_argument("--body", metavar="FILE", help="JSON of the payload, to which fields are added; - is stdin")
    parser.add_argument("--yes", action="store_true", help="allow requests that may change something on the broker")
    parser.add_argument("--offline", action="store_true", help="print the request's bytes as hex; send nothing")
    add_registry(parser)
    parser.add_argument("--client-id", default="kwire", metavar="TEXT", help="default: kwire")
    add_timeout(parser, 10, "for everything: name look-up, connection, TLS, SASL, request and the whole response")
    _add_hostile(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the response as JSON, indented")
    form.add_argument("--jsonl", action="store_true", help="print the response as JSON on one line")
    add_secrets(parser)
    add_profile(parser)
    add_colour(parser)
    add_security(parser)


def _add_hostile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hostile",
        metavar="KIND",
        help="instead of a request, attack a test system of your own as a client that breaks the protocol, and report "
        "what the broker does until the timeout: half-frame, counts, ... or all; --hostile list describes all kinds",
    )


def run(options: argparse.Namespace) -> int:
    """Send a request and print its response. Returns 1 if the response has an error code."""
    if options.registry is not None and (options.hostile or options.offline):
        raise UsageError("--registry decodes records of a response: it cannot be combined with --hostile and --offline")
    if options.hostile:
        from ..hostile import call_hostile

        return call_hostile(options)
    if options.api is None:
        missing = "NAME[:VERSION]" if options.address else "HOST:PORT, NAME[:VERSION]"
        raise UsageError(f"the following arguments are required: {missing}")
    if options.offline:
        return _offline(options)
    name, version = _parse_api(options)
    where = address(options.address)
    with BrokerConnection(
        where,
        deadline=Deadline(options.timeout),
        client_id=options.client_id,
        catalog=catalog_of(options),
        security=security_of(options),
    ) as broker:
        codec = codec_in(catalog_of(options), name, _newest(options, broker, name) if version is None else version)
        message = message_of(codec, options.members, _body(options))
        if changes_state(codec, message) and not options.yes:
            raise UsageError(f"{codec.spec.api_name} may change something on {where}: use --yes to allow this")
        answer = broker.ask(codec, message)
    if answer is None:
        remark("sent; with acks=0 the broker sends no response")
        return 0
    safe = masker(options)(answer)
    assert isinstance(safe, Response)
    _print(safe, options)
    undecoded = count_undecoded(options)
    return 1 if undecoded or MessageSummary().facts(answer.codec, answer.message).errors else 0


def _offline(options: argparse.Namespace) -> int:
    """Print the bytes of the request without sending it."""
    security_of(options, is_live=False)
    name, version = _parse_api(options)
    catalog = catalog_of(options)
    codec = codec_in(catalog, name, catalog.spec(name).versions.last if version is None else version)
    message = message_of(codec, options.members, _body(options))
    data = encode_request(message, codec.version, correlation_id=1, client_id=options.client_id, catalog=catalog)
    print(data.hex(" "))
    return 0


def _parse_api(options: argparse.Namespace) -> tuple[str, int | None]:
    """Return the api and version of `Api`, `Api:12`, `ApiRequest` or `ApiRequest:12`."""
    catalog = catalog_of(options)
    word, version = name_and_version(options.api)
    try:
        names = catalog.named(word, version)
    except UnknownMessage:
        names = []
    requests = [name for name in names if catalog.spec(name).type == "request"]
    if not requests:
        raise UnknownMessage("api", word, catalog.apis())
    return requests[0], version


def _newest(options: argparse.Namespace, broker: BrokerConnection, name: str) -> int:
    """Ask the broker for its versions; return the newest one that both sides support."""
    version = broker.newest(name)
    if version is None:
        spec = catalog_of(options).spec(name)
        raise UsageError(f"{broker.address} supports no version of {spec.api_name} that kwire knows ({spec.versions})")
    return version


def _body(options: argparse.Namespace) -> dict[str, Any] | None:
    if options.body is None:
        return None
    text = sys.stdin.read() if options.body == "-" else Path(options.body).read_text("utf-8")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{options.body}: not valid JSON: {json_problem(error)}") from None
    if not isinstance(body, dict):
        raise UsageError(f"{options.body}: a JSON object is needed, the request's payload")
    return body


def _print(answer: Response, options: argparse.Namespace) -> None:
    values = deserializer_of(options)
    if options.jsonl or options.json:
        members = envelope(answer) if values is None else envelope_with_records(answer, values, MessageSummary())
        print(compact_json(members) if options.jsonl else json_text(members))
    else:
        print("\n".join(tree(answer, style_for(sys.stdout, options.color), values=values)))
