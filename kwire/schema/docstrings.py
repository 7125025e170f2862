"""The docstrings of message classes: what a spec says about a message, its structs and its fields."""

from __future__ import annotations

import re
from textwrap import fill

from ..runtime.lazy_patterns import lazy_pattern
from .enums import kind_of
from .message_spec import FieldSpec, MessageSpec, StructSpec

_COMMENT = lazy_pattern(r"((?:^[ \t]*//.*\n)+)[ \t]*\{", re.MULTILINE)  # the lines above a document
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
    """Return the docstring for the class of a message or struct, with one paragraph per field."""
    names = [f"    {field.attribute}: {field_doc(spec, field)}" for field in struct.fields]
    fields = [fill(name, _WIDTH, subsequent_indent=" " * 8, break_long_words=False) for name in names]
    head = struct_doc(spec, struct)
    return "\n".join([head, "", "Attributes:", *fields]) if fields else head


def struct_doc(spec: MessageSpec, struct: StructSpec) -> str:
    """Return the description of a message or the position of a struct, without its fields."""
    paragraphs = describe_message(spec) if struct is spec.struct else _describe_uses(spec, struct)
    return "\n\n".join(fill(paragraph, _WIDTH, break_long_words=False) for paragraph in paragraphs)


def field_doc(spec: MessageSpec, field: FieldSpec) -> str:
    """Return the meaning of a field, its versions, and the enum of its values."""
    facts = [f"Versions {field.versions}"]
    if field.nullable_versions:
        facts.append(f"None in {field.nullable_versions}")
    if field.tagged_versions:
        facts.append(f"tag {field.tag} in {field.tagged_versions}")
    if field.struct is None and (kind := kind_of(spec.name, field.owner, field.json_name)) is not None:
        facts.append(f"see `kwire.values.{kind.__name__}`")
    return f"{field.about} {', '.join(facts)}.".strip()


def describe_message(spec: MessageSpec) -> list[str]:
    """Return the comment above the spec, unless it is a licence, and the type of the message."""
    comment = _COMMENT.search(spec.text)
    about = " ".join(line.strip().removeprefix("//").strip() for line in comment[1].splitlines()) if comment else ""
    kind = _KINDS[spec.type].format(key=spec.api_key)
    facts = f"{kind}, versions {spec.versions}{f' of {spec.origin}' if spec.origin else ''}."
    return [facts] if not about or "License" in about else [about, facts]


def _describe_uses(spec: MessageSpec, struct: StructSpec) -> list[str]:
    """Return the descriptions of the fields that contain a struct."""
    fields = [field for owner in spec.structs() for field in owner.fields if field.struct is struct]
    return [f"In `{field.attribute}`: {field.about}".strip() for field in fields] or [f"A struct of {spec.name}."]
