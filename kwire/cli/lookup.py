"""`kwire schema`, `kwire diff`, `kwire apis`, `kwire errors`: what the specs and tables say."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from ..catalog import Catalog, catalog_for
from ..codecs import Codec, codec_in
from ..compiler import decoder_source, encoder_source
from ..errors import UnknownMessage
from ..names import folded
from ..releases import Api, first_release, release, releases, removed_in
from ..render.differences import NOTHING, difference_lines
from ..render.layout import layout_bnf, layout_json, layout_markdown, layout_table
from ..render.style import Style, escape, json_text
from ..values import Value, kind
from .comparison import diff_dumps
from .inputs import UsageError, catalog_of, named_codecs, named_release
from .terminal import style_for


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


def diff(options: argparse.Namespace) -> int:
    """Print what differs between two versions of a message, two releases or two dumps. Returns 1 if anything does."""
    if len(options.names) == 2 and not options.release and any(_is_input(name) for name in options.names):
        return diff_dumps(options)
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


def apis(options: argparse.Namespace) -> int:
    """Print the table of apis: key, name, versions, since when, until when; of a single one every step."""
    found, spoken = _found(options.names), named_release(options.release) if options.release else None
    print(f"{'key':>3}  {'api':<34}{'versions':<10}{'since':<11}removed in")
    for api in found:
        versions = spoken.versions(api.key) if spoken else _all_versions(api)
        if versions or options.names:
            until = removed_in(api.key) or ""
            print(f"{api.key:>3}  {api.name:<34}{versions!s:<10}{first_release(api.key):<11}{until}".rstrip())
    if len(found) == len(options.names) == 1 and found[0].is_named(options.names[0]) and not spoken:
        for name, versions in found[0].changes.items():
            print(f"     from {name:<10} {versions}")
    return 0


def errors(options: argparse.Namespace) -> int:
    """Print error codes by number, name or part of a name."""
    codes = kind("ErrorCode")
    found = [code for word in options.names for code in _errors_like(codes, word)] if options.names else list(codes)
    for code in found:
        retry = {True: "retriable", False: "not retriable", None: "unknown"}[getattr(code, "retriable", None)]
        since = f", since {getattr(code, 'since', '')}" if getattr(code, "since", None) else ""
        print(f"{code.value:>4}  {code}  ({retry}{since})")
        if getattr(code, "about", ""):
            print(textwrap.fill(getattr(code, "about", ""), 78, initial_indent="      ", subsequent_indent="      "))
    return 0


def _message_lines(options: argparse.Namespace, style: Style) -> Iterator[str]:
    catalog = catalog_of(options)
    sides = [{codec.spec.type: codec for codec in named_codecs(text, catalog)} for text in options.names]
    for type_name in [*sides[0], *(name for name in sides[1] if name not in sides[0])]:
        one, other = sides[0].get(type_name), sides[1].get(type_name)
        yield _versions(one, other)
        yield from difference_lines(one, other, style)


def _release_lines(old: str, new: str, names: list[str], style: Style) -> Iterator[str]:
    before, after = named_release(old), named_release(new)
    for api in _found(names):
        one, other = before.versions(api.key), after.versions(api.key)
        if not one and not other:
            continue
        if one != other:
            yield f"{api.name} ({api.key}): versions {one} -> {other}"
        for suffix in ("Request", "Response"):
            pair = _newest(before.name, api, suffix), _newest(after.name, api, suffix)
            lines = list(difference_lines(*pair, style)) if all(pair) else []
            if lines and lines != [NOTHING]:
                yield _versions(*pair)
                yield from lines


def _versions(one: Codec | None, other: Codec | None) -> str:
    names = [f"{codec.name} v{codec.version}" if codec else "nothing" for codec in (one, other)]
    if one and other and one.name == other.name:
        names[1] = f"v{other.version}"
    return " -> ".join(names)


def _newest(name: str, api: Api, suffix: str) -> Codec | None:
    catalog: Catalog = catalog_for(None, name)
    versions = release(name).versions(api.key)
    spec = catalog.find(api.key, suffix.lower(), versions.last) if versions else None
    return codec_in(catalog, spec.name, versions.last) if spec else None


def _found(names: list[str]) -> list[Api]:
    """Return the apis that keys, names, or parts of names that none has, name; all where there are no names."""
    apis = [api for _, api in sorted(releases().apis.items())]
    found = {} if names else {api.key: api for api in apis}
    for name in names:
        exact = {api.key: api for api in apis if api.is_named(name)}
        near = exact or {api.key: api for api in apis if folded(name) in folded(api.name)}
        if not near:
            raise UnknownMessage("api", name, [api.name for api in apis])
        found |= near
    return [found[key] for key in sorted(found)]


def _all_versions(api: Api) -> str:
    spec = catalog_for().find(api.key, "request")
    return str(spec.versions) if spec else "none"


def _errors_like(codes: type[Value], word: str) -> list[Value]:
    """Return the error codes of a number, a name or a part of one. Raises UnknownMessage if there is none."""
    try:
        code = codes(word)
        found = [code] if code.name else []
    except UnknownMessage:
        found = [code for code in codes if word.casefold() in str(code).casefold()]
    if not found:
        raise UnknownMessage("error code", word, [str(code) for code in codes])
    return found
