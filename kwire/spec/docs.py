"""Docstrings of messages, structs and fields, from their specs: for classes at run time, and for stubs."""

from __future__ import annotations

import re
from textwrap import fill

from ..values import kind_of
from .model import FieldSpec, MessageSpec, StructSpec

_COMMENT = re.compile(r"((?:^[ \t]*//.*\n)+)[ \t]*\{", re.MULTILINE)  # the lines above a document
_WIDTH = 100
_KINDS = {
    "request": "Request of api key {key}",
    "response": "Response of api key {key}",
    "metadata": "Metadata record of type {key}",
    "coordinator-key": "Key of a coordinator's record of type {key}",
    "coordinator-value": "Value of a coordinator's record of type {key}",
    "header": "Header",
    "data": "Data",
}


def class_doc(spec: MessageSpec, struct: StructSpec) -> str:
    """Return the docstring of a message's or struct's class, with one paragraph for each field."""
    names = [f"    {field.attribute}: {field_doc(spec, field)}" for field in struct.fields]
    fields = [fill(name, _WIDTH, subsequent_indent=" " * 8, break_long_words=False) for name in names]
    head = struct_doc(spec, struct)
    return "\n".join([head, "", "Attributes:", *fields]) if fields else head


def struct_doc(spec: MessageSpec, struct: StructSpec) -> str:
    """Return what a message is, or where a struct stands, without its fields."""
    paragraphs = _message(spec) if struct is spec.struct else _uses(spec, struct)
    return "\n\n".join(fill(paragraph, _WIDTH, break_long_words=False) for paragraph in paragraphs)


def field_doc(spec: MessageSpec, field: FieldSpec) -> str:
    """Return what a field means, in which versions it is there, and which enum its numbers are of."""
    facts = [f"Versions {field.versions}"]
    if field.nullable_versions:
        facts.append(f"None in {field.nullable_versions}")
    if field.tagged_versions:
        facts.append(f"tag {field.tag} in {field.tagged_versions}")
    if field.struct is None and (kind := kind_of(spec.name, field.owner, field.json_name)) is not None:
        facts.append(f"see `kwire.values.{kind.__name__}`")
    return f"{field.about} {', '.join(facts)}.".strip()


def _message(spec: MessageSpec) -> list[str]:
    """Return what stands above the spec, if that is no licence, and what kind of message it is."""
    comment = _COMMENT.search(spec.text)
    about = " ".join(line.strip().removeprefix("//").strip() for line in comment[1].splitlines()) if comment else ""
    kind = _KINDS[spec.type].format(key=spec.api_key)
    facts = f"{kind}, versions {spec.versions}{f' of {spec.origin}' if spec.origin else ''}."
    return [facts] if not about or "License" in about else [about, facts]


def _uses(spec: MessageSpec, struct: StructSpec) -> list[str]:
    """Return what the fields that hold a struct say."""
    fields = [field for owner in spec.structs() for field in owner.fields if field.struct is struct]
    return [f"In `{field.attribute}`: {field.about}".strip() for field in fields] or [f"A struct of {spec.name}."]
