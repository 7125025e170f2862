"""`kwire schema` prints the fields of messages as a table, a grammar, JSON, or the Python code that decodes them.

`kwire spec check` prints every error of message specs, with its position.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..codecs import Codec
from ..codecs.generated_python import decoder_source, encoder_source
from ..codecs.schema_tree import grow
from ..errors import SpecError
from ..render.schema_text import layout_bnf, layout_json, layout_markdown, layout_table
from ..render.style import escape, json_text
from ..render.value_text import count_text
from ..spec import read_spec
from .inputs_and_output import catalog_of, named_codecs
from .options import add_colour, add_command, add_profile
from .terminal import style_for


def add_schema(commands: Any, about: str) -> None:
    """Add `kwire schema` and its options."""
    parser = add_command(
        commands,
        "schema",
        about,
        "  kwire schema Fetch:17\n  kwire schema MetadataResponse --bnf\n  kwire schema Metadata:12 --json | jq .\n"
        "  kwire schema MetadataResponse:12 --source\n",
        schema,
    )
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
    add_profile(parser)
    add_colour(parser)


def schema(options: argparse.Namespace) -> int:
    """Print the layout of messages."""
    style = style_for(sys.stdout, options.color)
    codecs = [codec for text in options.names for codec in named_codecs(text, catalog_of(options))]
    if options.form == "json":
        layouts = [layout_json(codec) for codec in codecs]
        print(json_text(layouts if len(layouts) > 1 else layouts[0]))
        return 0
    for index, codec in enumerate(codecs):
        print("\n" if index else "", end="")
        lines = {"bnf": layout_bnf, "markdown": layout_markdown, "source": _source}.get(options.form)
        for line in lines(codec) if lines else layout_table(codec, style):
            print(escape(line) if not style.colour else line)
    return 0


def _source(codec: Codec) -> Iterator[str]:
    for source in (decoder_source(codec.schema), encoder_source(codec.schema)):
        yield f"# {codec.name} v{codec.version}: {source.functions[0].name}"
        yield from source.text().splitlines()
        yield ""


MOST_VERSIONS = 200  # versions expanded for each spec; a hostile spec may claim 32,767


def add_spec(commands: Any, about: str) -> None:
    """Add `kwire spec` and its options."""
    parser = commands.add_parser("spec", help=about)
    actions = parser.add_subparsers(metavar="ACTION", required=True, prog="kwire spec")
    command = add_command(
        actions,
        "check",
        "check message specs, and suggest corrections",
        "  kwire spec check MetadataRequest.json\n"
        "  kwire spec check ~/kafka/clients/src/main/resources/common/message\n",
        check,
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="spec files, or folders of specs")


def check(options: argparse.Namespace) -> int:
    """Print the errors of all files, then a count. Returns 1 if there is one."""
    bad = good = 0
    style = style_for(sys.stdout)
    for path in _spec_files(options.files):
        errors = spec_errors(path)
        for error in errors:
            print(f"{style.paint('error', 'error')} {escape(str(error))}")
        bad += bool(errors)
        good += not errors
    print(f"{count_text(good + bad, 'spec')}: {good} valid, {bad} not")
    return 1 if bad else 0


def spec_errors(path: Path) -> list[SpecError]:
    """Return all errors of a spec file, including those that appear only when its versions are expanded."""
    try:
        spec = read_spec(path.read_text("utf-8"), str(path))
        for version, _ in zip(spec.versions, range(MOST_VERSIONS), strict=False):
            grow(spec, version)
    except SpecError as error:
        return [error, *error.others]
    except UnicodeDecodeError as error:
        return [SpecError(f"not UTF-8: {error.reason}", file=str(path), line=1)]
    return []


def _spec_files(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]
