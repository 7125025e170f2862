"""The message reference of the site: a page for each message of Kafka's releases, and one for each kind of values."""

from __future__ import annotations

import functools
import gzip
import html
import json
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kwire
from kwire.codecs.message_codec import Codec
from kwire.render.annotated_hex import annotate
from kwire.render.colours import Style
from kwire.render.differences.layout_differences import layout_differences
from kwire.render.schema_layout import heading, layout_bnf
from kwire.schema.catalog import catalog_for
from kwire.schema.docstrings import describe_message
from kwire.schema.enums import kind, kind_of, kinds
from kwire.schema.message_spec import FieldSpec, MessageSpec, StructSpec
from kwire.schema.releases import releases
from kwire.schema.spec_layers import WIRE_TYPES

GOLDEN = Path(__file__).resolve().parents[2] / "fixtures" / "golden.jsonl.gz"
FOLDER = "reference/messages"
PLAYGROUND = "../../how-to/decode-in-the-browser.html"
WIDTH = 88  # columns of a code block
LARGEST_EXAMPLE = 400  # bytes of a body that a page shows
GROUPS = {
    "request": "Requests and responses",
    "metadata": "Records of the metadata log (KRaft)",
    "coordinator-key": "Records of the coordinators' topics",
    "header": "Headers",
    "data": "Data inside other messages",
}


def message_pages() -> Iterator[tuple[str, str]]:
    """Yield the pages: path below docs/, and Markdown."""
    catalog = catalog_for()
    specs = [catalog.spec(name) for name in catalog.names()]
    yield f"{FOLDER}.md", _index(specs)
    for spec in specs:
        yield f"{FOLDER}/{spec.name}.md", _page(spec)
    yield f"{FOLDER}/values.md", _values()


def _index(specs: list[MessageSpec]) -> str:
    lines = [
        "# Messages",
        "",
        f"All {len(specs)} messages of Kafka 0.8 to {releases().names[-1].rpartition('.')[0]}: their fields, versions,"
        " and bytes. [Values](messages/values.md) lists error codes and the other numbers that have names.",
    ]
    for group, title in GROUPS.items():
        lines += ["", f"## {title}", "", "| key | message | versions | |", "|---:|---|---|---|"]
        chosen = [spec for spec in specs if spec.type in _types(group)]
        for spec in sorted(chosen, key=lambda spec: (-1 if spec.api_key is None else spec.api_key, spec.name)):
            key = "" if spec.api_key is None else spec.api_key
            lines.append(
                f"| {key} | [{spec.name}](messages/{spec.name}.md) | {spec.versions} | {_first_sentence(spec)} |"
            )
    return "\n".join(lines) + "\n"


def _types(group: str) -> tuple[str, ...]:
    together = {"request": ("request", "response"), "coordinator-key": ("coordinator-key", "coordinator-value")}
    return together.get(group, (group,))


def _page(spec: MessageSpec) -> str:
    codec = kwire.codec(spec.name, spec.versions.last)
    about = "\n\n".join(describe_message(spec))
    lines = [f"# {spec.name}", "", about, "", *_facts(spec), "", "## Versions", "", *_versions(spec)]
    lines += ["", "## Fields", "", *_fields(spec), "", f"## Bytes of version {codec.version}", ""]
    lines += [heading(codec), "", "```text", *_grammar(codec), "```", *_example(codec)]
    return "\n".join(lines) + "\n"


def _grammar(codec: Codec[Any]) -> Iterator[str]:
    for line in layout_bnf(codec):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        yield from textwrap.wrap(line, WIDTH, subsequent_indent=indent, drop_whitespace=True) or [line]


def _facts(spec: MessageSpec) -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    if spec.api_key is not None:
        yield f"| {'api key' if spec.type in WIRE_TYPES else 'record type'} | {spec.api_key} |"
    other = {"request": "response", "response": "request"}.get(spec.type)
    if other is not None:
        name = f"{spec.api_name}{other.capitalize()}"
        yield f"| {other} | [{name}]({name}.md) |"
    yield f"| flexible versions | {spec.flexible_versions} |"
    if spec.listeners:
        yield f"| listeners | {', '.join(spec.listeners)} |"
    yield f"| in Python | `kwire.messages.{spec.name}` |"
    yield f"| in a shell | `kwire schema {spec.name}` |"


def _versions(spec: MessageSpec) -> Iterator[str]:
    """Yield the table of versions: the releases that have each, and what it changed."""
    yield "| version | Kafka | what changed |"
    yield "|---:|---|---|"
    before: Codec[Any] | None = None
    for version in spec.versions:
        codec = kwire.codec(spec.name, version)
        changes = [] if before is None else _changes(before, codec)
        yield f"| {version} | {_releases_with(spec, version)} | {'<br>'.join(changes)} |"
        before = codec


def _changes(before: Codec[Any], after: Codec[Any]) -> list[str]:
    words = {"+": "adds", "-": "removes", "~": "changes"}
    changes = [f"{words[sign]} `{text}`" for sign, text in layout_differences(before, after)]
    if before.tree.tagged is None and after.tree.tagged is not None:
        changes.insert(0, "flexible: compact lengths, tagged fields (KIP-482)")
    return changes or ["no field"]


def _releases_with(spec: MessageSpec, version: int) -> str:
    api = (
        releases().apis.get(spec.api_key) if spec.type in ("request", "response") and spec.api_key is not None else None
    )
    if api is None:
        return ""
    names = [name for name in releases().names if version in releases().versions(name, api.key)]
    if not names:
        return "not released"
    first, last = (_line(name) for name in (names[0], names[-1]))
    return f"since {first}" if names[-1] == releases().names[-1] else f"{first} to {last}"


def _line(release: str) -> str:
    return release.rpartition(".")[0]


def _fields(spec: MessageSpec) -> Iterator[str]:
    yield "| field | type | versions | meaning |"
    yield "|---|---|---|---|"
    rows = list(_field_rows(spec, spec.struct, 0))
    yield from rows or ["| no fields | | | |"]


def _field_rows(spec: MessageSpec, struct: StructSpec, depth: int) -> Iterator[str]:
    for field in struct.fields:
        name = f"{'&emsp;' * depth}`{field.attribute}`"
        yield f"| {name} | {_type(field)} | {_field_versions(field)} | {_meaning(spec, field)} |"
        if field.struct is not None:
            yield from _field_rows(spec, field.struct, depth + 1)


def _type(field: FieldSpec) -> str:
    nullable = f"<br>null in {field.nullable_versions}" if field.nullable_versions else ""
    default = _default(field)
    return f"{field.type}{nullable}{f'<br>default {default}' if default else ''}"


def _field_versions(field: FieldSpec) -> str:
    tagged = f"<br>tag {field.tag} in {field.tagged_versions}" if field.tagged_versions else ""
    return f"{field.versions}{tagged}"


def _default(field: FieldSpec) -> str:
    if field.default is None:
        return "`null`" if field.nullable_versions else ""
    is_zero = field.default in (..., 0, "", b"", (), False)
    return "" if is_zero else f"`{field.default!r}`"


def _meaning(spec: MessageSpec, field: FieldSpec) -> str:
    kind_of_value = None if field.struct else kind_of(spec.name, field.owner, field.json_name)
    link = f" See [{kind_of_value.__name__}](values.md#{kind_of_value.__name__.lower()})." if kind_of_value else ""
    return f"{_cell(field.about)}{link}"


def _example(codec: Codec[Any]) -> Iterator[str]:
    """Yield the body of Kafka's with the most fields, of those of a readable size, byte by byte, and a link to it."""
    bodies = [body for body in _golden()[codec.name, codec.version] if len(body) <= LARGEST_EXAMPLE]
    if not bodies:
        return
    body, spans = max(((body, codec.trace(body)) for body in bodies), key=lambda traced: len(traced[1]))
    yield from ("", f"A body with random values, written by Kafka's own classes ({len(body)} bytes):", "")
    yield from ("```text", annotate(body, spans, Style(False, WIDTH), codec=codec).rstrip("\n"), "```", "")
    link = f"{PLAYGROUND}#hex={body.hex()}&as={codec.name}:{codec.version}&body=1"
    yield f'<a href="{html.escape(link)}">Explain these bytes in the browser</a>'


@functools.cache
def _golden() -> dict[tuple[str, int], list[bytes]]:
    bodies = defaultdict(list)
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            if case["case"].startswith("unknown_tags"):
                continue
            bodies[case["message"], case["version"]].append(bytes.fromhex(case["hex"]))
    return bodies


def _values() -> str:
    lines = ["# Values", "", "Numbers of the protocol that have names: `kwire.values` has a class for each kind."]
    for name in kinds():
        lines += ["", f"## {name}", "", "| number | name | meaning |", "|---:|---|---|"]
        for member in kind(name):
            lines.append(f"| {member.value} | `{member.name}` | {_cell(getattr(member, 'about', ''))} |")
    return "\n".join(lines) + "\n"


def _first_sentence(spec: MessageSpec) -> str:
    about = describe_message(spec)
    return _cell(about[0].partition(". ")[0].rstrip(".") + ".") if len(about) > 1 else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "&#124;").replace("<", "&lt;")
