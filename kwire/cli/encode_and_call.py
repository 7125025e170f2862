"""`kwire encode`: encodes JSON of frames and lines of logs as frames, and JSON of a payload as a body.

`kwire call`: sends one request, with fields from the command line, to a broker, and prints the response.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

from ..capture.open_file import read_text
from ..capture.request_log import RequestLogNotes, convert_object, looks_like_request_log, readable_frames
from ..client.address import address
from ..client.connection import SOFTWARE, BrokerConnection
from ..client.deadline import Deadline
from ..client.read_only_apis import changes_state
from ..codecs import Codec, codec_in
from ..errors import DumpError, KwireError, UnknownMessage, json_problem, suggestion
from ..protocol import Frame, Response, encode_request
from ..protocol.results import MessageSummary
from ..render.json_objects import envelope, json_line
from ..render.schema_text import template
from ..render.style import json_text
from ..render.tree import tree
from ..render.value_text import count_text
from ..spec.catalog import Catalog
from ..wire import Field, Integer, String
from .inputs_and_output import (
    FrameOutput,
    catalog_of,
    masker,
    name_and_version,
    named_codec,
    named_codecs,
    output_bytes,
)
from .options import (
    UsageError,
    add_colour,
    add_command,
    add_profile,
    add_raw,
    add_secrets,
    add_security,
    add_timeout,
    security_of,
)
from .terminal import complain, remark, style_for

TAKES = "JSON of frames (kwire decode --jsonl writes it), a log of requests, or with --as a payload"
_JSON = re.compile(r"\s*(?:\{|\[\s*[{\]])")  # not the bracketed date at the start of a line of log4j
_SPACE = re.compile(r"\s*")


def add_encode(commands: Any, about: str) -> None:
    """Add `kwire encode` and its options."""
    parser = add_command(
        commands,
        "encode",
        about,
        "  kwire encode frames.jsonl -o dump.pcap    from decode --jsonl or --json\n"
        "  kwire encode broker.log -o dump.pcap      a log of requests in JSON\n"
        "  kwire encode --template Metadata:12       JSON to start from\n"
        "  kwire encode body.json --as MetadataRequest:12 --hex     a payload alone\n"
        "\nIf the input names connections (JSON of a capture, a broker's log), the output\n"
        "is a capture, otherwise raw frames, regardless of its name. Lines that cannot be\n"
        "encoded are reported and skipped; the exit code is then 1.\n",
        encode,
    )
    parser.add_argument("file", nargs="?", help="JSON of frames, a log of requests, or a payload; - is stdin")
    parser.add_argument("--as", dest="named", metavar="NAME:VERSION", help="the JSON is a payload of this message")
    parser.add_argument("--template", metavar="NAME:VERSION", help="print a JSON template; encode nothing")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file; default: standard output")
    parser.add_argument("--hex", action="store_true", help="write hex text of raw frames")
    add_raw(parser)
    add_profile(parser)


def encode(options: argparse.Namespace) -> int:
    """Write the bytes of all JSON values of the input. Returns 1 if some could not be encoded."""
    catalog = catalog_of(options)
    if options.template:
        codec = named_codecs(options.template, catalog)[0]
        print(json.dumps(template(codec), indent=2))
        return 0
    if options.file is None and sys.stdin.isatty():
        raise UsageError(f"the following arguments are required: FILE: {TAKES}; - is standard input")
    file, notes = options.file or "-", RequestLogNotes()
    text = read_text(file, f"encode takes {TAKES}")
    if not text.strip():
        raise DumpError("there is nothing in it", file=file, hint=f"encode takes {TAKES}")
    found = _bodies(text, file, options, catalog, notes) if options.named else _frames(text, file, catalog, notes)
    frames = list(found)  # all frames, to find the last one of each connection
    if frames:
        _write(frames, options, file)
    elif not notes.broken:
        raise DumpError("; ".join(["no frame in it", *notes.texts()]), file=file)
    _complain(notes, len(frames), file)
    return _code(notes, len(frames))


def _write(frames: list[Frame], options: argparse.Namespace, file: str) -> None:
    last = {(one.source.file, one.source.connection): index for index, one in enumerate(frames)}
    with output_bytes(options.output, [file]) as stream:
        plain = BytesIO() if options.hex else stream
        output = FrameOutput(plain, raw=options.raw or options.hex or bool(options.named))
        for index, frame in enumerate(frames):
            output.write(frame)
            if last[frame.source.file, frame.source.connection] == index:
                output.end(frame.source)
        output.finish()
        if isinstance(plain, BytesIO):
            stream.write((plain.getvalue().hex(" ") + "\n").encode())


def _complain(notes: RequestLogNotes, count: int, file: str) -> None:
    """Report invalid lines and other notes on stderr."""
    for error in notes.errors:
        complain(str(error))
    if notes.broken:
        skipped = count_text(notes.broken, "bad line")
        remark(f"{file}: {count_text(count, 'frame')} encoded, {skipped} skipped")
    for what in notes.texts():
        remark(f"{file}: {what}")


def _code(notes: RequestLogNotes, count: int) -> int:
    """Return 0 if everything was encoded, 1 if something was not, 2 if the input has no supported format."""
    if not notes.broken:
        return 0
    return 2 if not count and all(error.problem.startswith(NO_JSON) for error in notes.errors) else 1


def _bodies(
    text: str, file: str, options: argparse.Namespace, catalog: Catalog, notes: RequestLogNotes
) -> Iterator[Frame]:
    codec = named_codec(options.named, catalog, bare=True)
    for line, value in _values(text, file, notes):
        try:
            yield Frame(codec.encode(codec.from_json(value)), bare=True)
        except KwireError as error:
            notes.refuse(error, file, line)


def _frames(text: str, file: str, catalog: Catalog, notes: RequestLogNotes) -> Iterator[Frame]:
    """Yield frames encoded from JSON values, or from the lines of a log that contain more than JSON."""
    if _JSON.match(text) is None and looks_like_request_log(text):
        yield from readable_frames(text.encode().split(b"\n"), file, catalog, notes)
        return
    for line, value in _values(text, file, notes):
        try:
            yield from list(convert_object(value, catalog, notes))
        except KwireError as error:
            notes.refuse(error, file, line)


NO_JSON = "not valid JSON"


def _values(text: str, file: str, notes: RequestLogNotes) -> Iterator[tuple[int, Any]]:
    """Yield the JSON values of a text (consecutive values, or the elements of arrays), each with its line number.

    After text that is not JSON, the next line that begins an object is the next value.
    """
    decoder, line, counted = json.JSONDecoder(), 1, 0
    position = _end_of_space(text, 0)
    while position < len(text):
        line, counted = line + text.count("\n", counted, position), position
        try:
            value, stop = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            notes.refuse(DumpError(f"{NO_JSON}: {json_problem(error)}", file=file, line=line), file, line)
            stop = text.find("\n{", position)
            if stop < 0:
                return
        else:
            for element in value if isinstance(value, list) else [value]:
                yield line, element
        position = _end_of_space(text, stop)


def _end_of_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found is not None else position


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


def add_call(commands: Any, about: str) -> None:
    """Add `kwire call` and its options."""
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
        "  kwire call :9092 --hostile half-frame --timeout 1\n"
        "\nThe default version is the newest that both sides support. Fields that are not\n"
        "given have their defaults. Exit code 1 if the response has an error code.\n",
        call,
    )
    parser.add_argument("address", nargs="?", metavar="HOST:PORT", help="a broker; :PORT is localhost")
    parser.add_argument("api", nargs="?", metavar="NAME[:VERSION]", help="the api")
    parser.add_argument(
        "members", nargs="*", default=[], metavar="FIELD=TEXT", help="a text field; FIELD:=JSON for other values"
    )
    parser.add_argument("--body", metavar="FILE", help="JSON of the payload, to which fields are added; - is stdin")
    parser.add_argument("--yes", action="store_true", help="allow requests that may change something on the broker")
    parser.add_argument("--offline", action="store_true", help="print the request's bytes as hex; send nothing")
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


def call(options: argparse.Namespace) -> int:
    """Send a request and print its response. Returns 1 if the response has an error code."""
    if options.hostile:
        from .hostile import call_hostile

        return call_hostile(options)
    if options.api is None:
        missing = "NAME[:VERSION]" if options.address else "HOST:PORT, NAME[:VERSION]"
        raise UsageError(f"the following arguments are required: {missing}")
    if options.offline:
        return _offline(options)
    name, version = _named(options)
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
