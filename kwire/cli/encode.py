"""`kwire encode`: JSON of frames and lines of logs to frames, JSON of a payload to a body."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..catalog import Catalog
from ..dumps.requestlog import Notes, frames_of, log_frames, looks_like_log
from ..errors import DumpError
from ..render.template import template
from .inputs import catalog_of, named_codec, named_codecs
from .terminal import remark

_JSON = re.compile(r"\s*(?:\{|\[\s*[{\]])")  # not the date in brackets that a line of log4j begins with


def encode(options: argparse.Namespace) -> int:
    """Write the bytes of all JSON values of the input."""
    catalog = catalog_of(options)
    if options.template:
        codec = named_codecs(options.template, catalog)[0]
        print(json.dumps(template(codec), indent=2))
        return 0
    text = _text(options.file)
    data = _bodies(text, options, catalog) if options.named else _frames(text, options.file, catalog)
    if options.hex:
        data = (data.hex(" ") + "\n").encode()
    if options.output:
        Path(options.output).write_bytes(data)
    else:
        sys.stdout.buffer.write(data)
    return 0


def _text(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except UnicodeDecodeError as error:
        hint = "encode takes JSON or a log of requests; kwire decode --jsonl makes it of a dump"
        raise DumpError("this is not text in UTF-8", file=file, offset=error.start, hint=hint) from None


def _bodies(text: str, options: argparse.Namespace, catalog: Catalog) -> bytes:
    codec = named_codec(options.named, catalog, bare=True)
    return b"".join(codec.encode(codec.from_json(value)) for value in _values(text, options.file))


def _frames(text: str, file: str, catalog: Catalog) -> bytes:
    """Encode the frames of JSON values, or of the lines of a log that has more than JSON in its lines."""
    notes = Notes()
    if _JSON.match(text) is None and looks_like_log(text):
        found = log_frames(text.encode().split(b"\n"), file, catalog, notes)
    else:
        found = (frame for value in _values(text, file) for frame in frames_of(value, catalog, notes))
    data = b"".join(frame.data for frame in found)
    for what in notes.texts():
        remark(f"{file}: {what}")
    return data


def _values(text: str, file: str) -> Iterator[Any]:
    """Yield the JSON values of a text: one, several one after the other, or the elements of one array."""
    decoder = json.JSONDecoder()
    position = 0
    try:
        while text[position:].strip():
            position += len(text[position:]) - len(text[position:].lstrip())
            value, position = decoder.raw_decode(text, position)
            yield from value if isinstance(value, list) else [value]
    except (json.JSONDecodeError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        what = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep"
        raise DumpError(f"this is no JSON: {what}", file=file, line=line) from None
