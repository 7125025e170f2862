"""`kwire diff`: prints the differences between two versions of a message, two releases or two dumps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from ...codecs.message_codec import Codec, codec_in
from ...protocol import Undecodable
from ...render.colours import Style
from ...render.differences.frame_differences import frame_differences
from ...render.differences.layout_differences import NOTHING, layout_difference_lines
from ...render.escaping import escape
from ...render.frame_title import title
from ...render.value_text import count_text
from ...schema.catalog import Catalog, catalog_for
from ...schema.releases import ReleasedApi, release
from ..input.dump_decoder import results
from ..options.api_names import found_apis
from ..options.inputs import add_keylog
from ..options.message_names import named_codecs
from ..options.output import add_colour
from ..options.releases import named_release
from ..options.secrets import add_secrets
from ..options.specs import add_profile, catalog_of
from ..options.usage_error import UsageError
from ..terminal.terminal_style import style_for


def diff_dumps(options: argparse.Namespace) -> int:
    """Print the differences between two dumps, then a count. Returns 1 if there are any, or a frame does not decode."""
    style = style_for(sys.stdout, options.color)
    more = {"named": None, "body": False, "hex": None, "profile": options.profile, "schemas": options.schemas}
    more |= {"show_secrets": options.show_secrets, "keylog": options.keylog}
    sides = [results(argparse.Namespace(files=[name], **more), trace=True) for name in options.names]
    frames = differ = undecodable = 0
    for one, other in zip_longest(*sides):
        frames += 1
        undecodable += any(isinstance(side, Undecodable) and side.is_failure for side in (one, other))
        if one is None or other is None:
            differ += 1
            name = options.names[0] if other is None else options.names[1]
            print(escape(f"only in {name}: {title(one or other)}"))
            continue
        lines = list(frame_differences(one, other, style))
        if lines:
            differ += 1
            print(escape(f"{title(one)}\n{title(other)}" if title(one) != title(other) else title(one)))
            print("\n".join(lines), flush=True)
    print(f"{count_text(frames, 'frame')}: {frames - differ} the same, {differ} not")
    return 1 if differ or undecodable else 0


EXAMPLES = """\
  kwire diff Metadata:9 Metadata:12
  kwire diff one.bin two.bin
  kwire diff --release 3.9 4.4
  kwire diff --release 3.9 4.4 Fetch
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME[:VERSION]",
        help="two messages or apis, or two files; with --release one api",
    )
    parser.add_argument("--release", nargs=2, metavar=("A", "B"), help="two Kafka releases")
    add_keylog(parser)
    add_secrets(parser)
    add_profile(parser)
    add_colour(parser)


def run(options: argparse.Namespace) -> int:
    """Print the differences between two versions of a message, two releases or two dumps. Returns 1 if any exist."""
    if len(options.names) == 2 and not options.release and any(_is_input(name) for name in options.names):
        return diff_dumps(options)
    if options.keylog is not None:
        raise UsageError("--keylog is for two captures: kwire diff A.pcap B.pcap --keylog KEYS")
    style = style_for(sys.stdout, options.color)
    if options.release:
        if len(options.names) > 1:
            raise UsageError("diff --release takes two releases, and at most one api")
        old, new = options.release
        lines = list(_release_lines(old, new, options.names, style))
    elif len(options.names) == 2:
        lines = list(_message_lines(options, style))
    else:
        raise UsageError("diff takes two of NAME:VERSION, two files, or --release A B")
    for line in lines:
        print(line)
    return 1 if any(line.startswith("  ") and line != NOTHING for line in lines) else 0


def _is_input(name: str) -> bool:
    return name == "-" or (Path(name).exists() and not Path(name).is_dir())  # also a pipe of the shell's


def _message_lines(options: argparse.Namespace, style: Style) -> Iterator[str]:
    catalog = catalog_of(options)
    sides = [{codec.spec.type: codec for codec in named_codecs(text, catalog)} for text in options.names]
    for type_name in [*sides[0], *(name for name in sides[1] if name not in sides[0])]:
        one, other = sides[0].get(type_name), sides[1].get(type_name)
        yield _versions(one, other)
        yield from layout_difference_lines(one, other, style)


def _release_lines(old: str, new: str, names: list[str], style: Style) -> Iterator[str]:
    before, after = named_release(old), named_release(new)
    for api in found_apis(names):
        one, other = before.versions(api.key), after.versions(api.key)
        if not one and not other:
            continue
        if one != other:
            yield f"{api.name} ({api.key}): versions {one} -> {other}"
        for suffix in ("Request", "Response"):
            pair = _newest(before.name, api, suffix), _newest(after.name, api, suffix)
            lines = list(layout_difference_lines(*pair, style)) if all(pair) else []
            if lines and lines != [NOTHING]:
                yield _versions(*pair)
                yield from lines


def _versions(one: Codec | None, other: Codec | None) -> str:
    names = [f"{codec.name} v{codec.version}" if codec else "nothing" for codec in (one, other)]
    if one and other and one.name == other.name:
        names[1] = f"v{other.version}"
    return " -> ".join(names)


def _newest(name: str, api: ReleasedApi, suffix: str) -> Codec | None:
    catalog: Catalog = catalog_for(None, name)
    versions = release(name).versions(api.key)
    spec = catalog.find(api.key, suffix.lower(), versions.last) if versions else None
    return codec_in(catalog, spec.name, versions.last) if spec else None
