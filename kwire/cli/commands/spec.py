"""`kwire spec check`: prints every error of message specs, with its position."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from ...codecs.schema_tree import grow_tree
from ...errors import SpecError
from ...render.escaping import escape
from ...render.value_text import count_text
from ...schema.spec_reader import read_spec
from ..options.parser import add_command
from ..terminal.terminal_style import style_for

MOST_VERSIONS = 200  # versions expanded for each spec; a hostile spec may claim 32,767
EXAMPLES = """\
  kwire spec check MetadataRequest.json
  kwire spec check ~/kafka/clients/src/main/resources/common/message
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the action `check` and its arguments."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, prog="kwire spec")
    check = add_command(actions, "check", "check message specs, and suggest corrections", EXAMPLES, run)
    check.add_argument("files", nargs="+", metavar="FILE", help="spec files, or folders of specs")


def run(options: argparse.Namespace) -> int:
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
            grow_tree(spec, version)
    except SpecError as error:
        return [error, *error.others]
    except UnicodeDecodeError as error:
        return [SpecError(f"not UTF-8: {error.reason}", file=str(path), line=1)]
    return []


def _spec_files(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        yield from sorted(path.glob("*.json")) if path.is_dir() else [path]
