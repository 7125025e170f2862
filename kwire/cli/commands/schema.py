"""`kwire schema`: prints the fields of messages as a table, a grammar, JSON, or the Python code that decodes them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from ...codecs.fallback.generated_python import decoder_source, encoder_source
from ...codecs.message_codec import Codec
from ...render.escaping import escape
from ...render.schema_layout import layout_bnf, layout_json, layout_markdown, layout_table
from ..options.message_names import named_codecs
from ..options.output import add_colour
from ..options.specs import add_profile, catalog_of
from ..output.json_answer import add_json_file, print_json
from ..terminal.terminal_style import style_for

EXAMPLES = """\
  kwire schema Fetch:17
  kwire schema MetadataResponse --bnf
  kwire schema Metadata:12 --json | jq .
  kwire schema MetadataResponse:12 --source
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "names", nargs="+", metavar="NAME[:VERSION]", help="an api or a message; default: newest version"
    )
    forms = parser.add_mutually_exclusive_group()
    for form, about in (
        ("bnf", "as a grammar"),
        ("json", "as JSON"),
        ("markdown", "as a Markdown table"),
        ("source", "as the Python that decodes and encodes it"),
    ):
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=about)
    add_json_file(parser)
    add_profile(parser)
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Print the layout of messages."""
    style = style_for(sys.stdout, options.color)
    codecs = [codec for text in options.names for codec in named_codecs(text, catalog_of(options))]
    if print_json(options, lambda: _layouts(codecs), is_asked=options.form == "json"):
        return 0
    for index, codec in enumerate(codecs):
        print("\n" if index else "", end="")
        lines = {"bnf": layout_bnf, "markdown": layout_markdown, "source": _source}.get(options.form)
        for line in lines(codec) if lines else layout_table(codec, style):
            print(escape(line) if not style.colour else line)
    return 0


def _layouts(codecs: list[Codec]) -> Any:
    layouts = [layout_json(codec) for codec in codecs]
    return layouts if len(layouts) > 1 else layouts[0]


def _source(codec: Codec) -> Iterator[str]:
    for source in (decoder_source(codec.tree), encoder_source(codec.tree)):
        yield f"# {codec.name} v{codec.version}: {source.functions[0].name}"
        yield from source.text().splitlines()
        yield ""
