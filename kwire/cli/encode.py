"""`kwire encode`: JSON of frames to frames, JSON of a payload to a body."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..catalog import Catalog
from ..errors import DumpError
from ..render.envelope import open_envelope
from ..render.template import template
from .inputs import catalog_of, named_codec, named_codecs


def encode(options: argparse.Namespace) -> int:
    """Write the bytes of all JSON values of the input."""
    catalog = catalog_of(options)
    if options.template:
        codec = named_codecs(options.template, catalog)[0]
        print(json.dumps(template(codec), indent=2))
        return 0
    text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text("utf-8")
    data = b"".join(_bytes(value, options, catalog) for value in _values(text, options.file))
    if options.hex:
        data = (data.hex(" ") + "\n").encode()
    if options.output:
        Path(options.output).write_bytes(data)
    else:
        sys.stdout.buffer.write(data)
    return 0


def _bytes(value: Any, options: argparse.Namespace, catalog: Catalog) -> bytes:
    if not options.named:
        return open_envelope(value, catalog)
    codec = named_codec(options.named, catalog, bare=True)
    return codec.encode(codec.from_json(value))


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
