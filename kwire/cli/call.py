"""`kwire call`: sends one request, with fields from the command line, to a broker, and prints the response."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..codecs import Codec, codec_in
from ..errors import UnknownMessage, json_problem, suggestion
from ..net.client import SOFTWARE, BrokerConnection, address, changes_state
from ..protocol import Response, encode_request
from ..protocol.results import MessageSummary
from ..render.json_objects import envelope, json_line
from ..render.style import json_text
from ..render.tree import tree
from ..wire import Field, Integer, String
from .inputs import catalog_of, masker, name_and_version
from .options import UsageError, add_colour, add_command, add_profile, add_secrets, add_security, seconds, security_of
from .terminal import remark, style_for

_MEMBER = re.compile(r"(?P<name>\w+)(?P<sign>:?=)(?P<text>.*)", re.DOTALL)
# Values sent for omitted fields where the spec's default is unsuitable: Metadata would create topics.
DEFAULTS = {"allowAutoTopicCreation": False, **SOFTWARE}


def message_of(codec: Codec, members: Iterable[str], body: dict[str, Any] | None = None) -> Any:
    """Build a message from command-line arguments.

    Args:
        codec: the codec of the message.
        members: `name=text` or `name:=JSON`, names as in Kafka's JSON or in snake case.
        body: a JSON object to which the members are added.

    Returns:
        The message. Omitted fields have their defaults, except that Metadata does not create topics, and ApiVersions
        contains the name and version of this software.

    Raises:
        UsageError: a member has another form, or a name that the message does not have.
        EncodeError: a value that the field cannot hold.

    >>> import kwire
    >>> message_of(kwire.codec("MetadataRequest", 4), ['topics:=[{"name": "orders"}]']).allow_auto_topic_creation
    False
    """
    fields = {name: field for field in codec.schema.all_fields for name in (field.json_name, str(field.name))}
    values = dict(body or {})
    for name, value in DEFAULTS.items():
        if name in fields and not {name, str(fields[name].name)} & values.keys():
            values[name] = value
    for member in members:
        match = _MEMBER.fullmatch(member)
        if match is None:
            raise UsageError(f"{member}: not a field; write NAME=TEXT or NAME:=JSON")
        field = fields.get(match["name"])
        if field is None:
            others = [one.versions for one in codec.spec.struct.fields if match["name"] in (one.name, one.attribute)]
            hint = f"versions {others[0]} have it" if others else suggestion(match["name"], fields)
            hint = hint or f"see kwire schema {codec.name}:{codec.version}"
            raise UsageError(f"{member}: {codec.name} v{codec.version} has no field {match['name']}; {hint}")
        values[field.json_name] = _value(field, match["sign"], match["text"], member)
    return codec.from_json(values, defaults=True)


def _value(field: Field, sign: str, text: str, member: str) -> Any:
    if sign == "=" and isinstance(field.subcon, String):
        return text
    if sign == "=" and isinstance(field.subcon, Integer) and not re.fullmatch(r"-?\d{1,20}", text):
        raise UsageError(f"{member}: {field.json_name} is a number")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{member}: not valid JSON: {getattr(error, 'msg', '') or json_problem(error)}") from None


def add_parser(commands: Any, about: str) -> None:
    """Add the command and its options."""
    parser = add_command(
        commands,
        "call",
        about,
        "  kwire call :9092 ApiVersions\n"
        '  kwire call :9092 Metadata \'topics:=[{"name": "orders"}]\'\n'
        "  kwire call b1:9092 FindCoordinator 'coordinatorKeys:=[\"my-group\"]'\n"
        "  kwire call :9092 DeleteGroups:2 'groupsNames:=[\"old\"]' --yes\n"
        "  kwire call :9092 Metadata:12 --offline         print the bytes, send nothing\n"
        "  kwire call b1:9093 Metadata --security-protocol SASL_SSL --ca ca.pem \\\n"
        "      --sasl-username alice --sasl-password-file secret\n"
        "\nThe default version is the newest that both sides support. Fields that are not\n"
        "given have their defaults. Exit code 1 if the response has an error code.\n",
        call,
    )
    parser.add_argument("address", metavar="HOST:PORT", help="a broker; :PORT is localhost")
    parser.add_argument("api", metavar="NAME[:VERSION]", help="the api")
    parser.add_argument(
        "members", nargs="*", default=[], metavar="FIELD=TEXT", help="a text field; FIELD:=JSON for other values"
    )
    parser.add_argument("--body", metavar="FILE", help="JSON of the payload, to which fields are added; - is stdin")
    parser.add_argument("--yes", action="store_true", help="allow requests that may change something on the broker")
    parser.add_argument("--offline", action="store_true", help="print the request's bytes as hex; send nothing")
    parser.add_argument("--client-id", default="kwire", metavar="TEXT", help="default: kwire")
    parser.add_argument("--timeout", type=seconds, default=10.0, metavar="SECONDS", help="default: 10")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the response as JSON, indented")
    form.add_argument("--jsonl", action="store_true", help="print the response as JSON on one line")
    add_secrets(parser)
    add_profile(parser)
    add_colour(parser)
    add_security(parser)


def call(options: argparse.Namespace) -> int:
    """Send a request and print its response. Returns 1 if the response has an error code."""
    if options.offline:
        return _offline(options)
    name, version = _named(options)
    where = address(options.address)
    with BrokerConnection(
        where,
        timeout=options.timeout,
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
    return 1 if MessageSummary().facts(answer.codec, answer.message).errors else 0


def _offline(options: argparse.Namespace) -> int:
    """Print the bytes of the request without sending it."""
    security_of(options, is_live=False)
    name, version = _named(options)
    catalog = catalog_of(options)
    codec = codec_in(catalog, name, catalog.spec(name).versions.last if version is None else version)
    message = message_of(codec, options.members, _body(options))
    data = encode_request(message, codec.version, correlation_id=1, client_id=options.client_id, catalog=catalog)
    print(data.hex(" "))
    return 0


def _named(options: argparse.Namespace) -> tuple[str, int | None]:
    """Return the api and version of `Api`, `Api:12`, `ApiRequest` or `ApiRequest:12`."""
    catalog = catalog_of(options)
    word, version = name_and_version(options.api)
    try:
        names = catalog.named(word, version)
    except UnknownMessage:
        names = []
    found = [name for name in names if catalog.spec(name).type == "request"]
    if not found:
        raise UnknownMessage("api", word, catalog.apis())
    return found[0], version


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
    if options.jsonl:
        print(json_line(answer))
    elif options.json:
        print(json_text(envelope(answer)))
    else:
        print("\n".join(tree(answer, style_for(sys.stdout, options.color))))
