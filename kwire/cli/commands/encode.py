"""`kwire encode`: encodes JSON of frames and lines of logs as frames, and JSON of a payload as a body."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from ...capture.open_file import read_text
from ...capture.request_logs.request_log import RequestLogNotes, convert_object, looks_like_request_log, readable_frames
from ...errors import DumpError, KwireError, json_problem
from ...protocol import Frame
from ...render.json_objects.json_template import template
from ...render.value_text import count_text
from ...schema.catalog import Catalog
from ..options.message_names import named_codec, named_codecs
from ..options.output import add_raw
from ..options.specs import add_profile, catalog_of
from ..options.usage_error import UsageError
from ..output.frame_output import FrameOutput
from ..output.output_files import output_bytes
from ..terminal.remarks import complain, remark

TAKES = "JSON of frames (kwire decode --jsonl writes it), a log of requests, or with --as a payload"
_JSON = re.compile(r"\s*(?:\{|\[\s*[{\]])")  # not the bracketed date at the start of a line of log4j
_SPACE = re.compile(r"\s*")
NO_JSON = "not valid JSON"


EXAMPLES = """\
  kwire encode frames.jsonl -o dump.pcap    from decode --jsonl or --json
  kwire encode broker.log -o dump.pcap      a log of requests in JSON
  kwire encode --template Metadata:12       JSON to start from
  kwire encode body.json --as MetadataRequest:12 --hex     a payload alone

OUT keeps the input's form: JSON of captures and brokers' logs become captures,
other JSON raw frames, whatever OUT is called. Lines that cannot be encoded are
reported and skipped; the exit code is then 1.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", nargs="?", help="JSON of frames, a log of requests, or a payload; - is stdin")
    parser.add_argument("--as", dest="named", metavar="NAME:VERSION", help="the JSON is a payload of this message")
    parser.add_argument("--template", metavar="NAME:VERSION", help="print a JSON template; encode nothing")
    parser.add_argument("-o", "--output", metavar="FILE", help="output file; default: standard output")
    parser.add_argument("--hex", action="store_true", help="write hex text of raw frames")
    add_raw(parser)
    add_profile(parser)


def run(options: argparse.Namespace) -> int:
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
        raise DumpError("file is empty", file=file, hint=f"encode takes {TAKES}")
    encoded = _bodies(text, file, options, catalog, notes) if options.named else _frames(text, file, catalog, notes)
    frames = list(encoded)  # all frames, to find the last one of each connection
    if frames:
        _write(frames, options, file)
    elif not notes.broken:
        raise DumpError("; ".join(["no frame in it", *notes.texts()]), file=file)
    _complain(notes, len(frames), file)
    return _code(notes, len(frames))


def _write(frames: list[Frame], options: argparse.Namespace, file: str) -> None:
    last = {(encoded.source.file, encoded.source.connection): index for index, encoded in enumerate(frames)}
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
    space = _SPACE.match(text, position)
    return space.end() if space is not None else position
