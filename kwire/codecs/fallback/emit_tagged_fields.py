"""Emits code for tagged fields (KIP-482), known and unknown ones."""

from __future__ import annotations

from ..wire import TaggedFields
from .reading_functions import ReadingFunction, read_node
from .source_builder import checked_attribute
from .writing_functions import WritingFunction, write_node


def read_tagged(node: TaggedFields, out: ReadingFunction) -> dict[str, str]:
    """Emit code that reads a tagged section; return expressions of the known fields and of `unknown_tags`."""
    fields = list(node.fields.values())
    foreign = out.source.constant("F", node.foreign, f"tags of other versions: {sorted(node.foreign)}")
    names = [checked_attribute(field.name) for field in fields]
    variables = [out.variable() for _ in (*fields, "unknown")]
    out.note("tagged fields")
    count = out.fixed("B")
    out.settle()
    section = (
        f"{_section(node, out, foreign)}(b, {out.at(-1)})" if fields else f"unknown_tags(b, {out.at(-1)}, {foreign})"
    )
    defaults = [out.source.literal(field.default) for field in fields]
    out.early(f"if {count}: {', '.join(variables)}, p = {section}")
    none = "".join(f"{variable} = {value}; " for variable, value in zip(variables, [*defaults, "None"], strict=True))
    out.early(f"else: {none}p += {out.behind}")
    out.mark_read()
    return dict(zip([*names, "unknown_tags"], variables, strict=True))


def _section(node: TaggedFields, out: ReadingFunction, foreign: str) -> str:
    """Emit the function that reads a section of known and unknown tags in ascending order."""
    inner = ReadingFunction(out.source, out.source.fresh("tagged"))
    inner.line("n, p = varint(b, p); last = -1; unknown = bytearray()")
    variables = [inner.variable() for _ in node.fields]
    for variable, field in zip(variables, node.fields.values(), strict=True):
        inner.line(f"{variable} = {out.source.literal(field.default)}")
    with inner.block("for _ in range(n):"):
        inner.line("start = p; tag, p = varint(b, p); size, p = varint(b, p); stop = p + size")
        inner.line("if tag <= last: raise Declined")
        inner.line("last = tag")
        for variable, (tag, field) in zip(variables, node.fields.items(), strict=True):
            with inner.block(f"{'if' if variable == variables[0] else 'elif'} tag == {tag}:"):
                inner.note(checked_attribute(field.name))
                inner.line(f"{variable} = {read_node(field.subcon, inner)}")
                # A tag with its default is valid but noted, so it is left to the reference path.
                inner.line(f"if p != stop or {variable} == {out.source.literal(field.default)}: raise Declined")
        inner.line(f"else: unknown += unknown_tag(b, start, stop, tag, {foreign}); p = stop")
    inner.line(f"return {', '.join(variables)}, bytes(unknown) or None, p")
    return inner.name


def write_tagged(node: TaggedFields, out: WritingFunction, message: str) -> None:
    """Emit code that writes the pending values and a tagged section."""
    fields = list(node.fields.values())
    if fields:
        unknown = out.source.constant("T", node.unknown_entries, "unknown tagged fields, checked")
        section = f"{_write_section(node, out, unknown)}({message})"
    else:
        unknown = out.source.constant("T", node.unknown_section, "a section of unknown tagged fields")
        section = f"unknown({message}.unknown_tags, {unknown})"
    out.check()
    out.line(f"if {is_tagged(node, out, message)}: {out.piece(section)}")
    out.line(f"else: o.append({out.pack_pending(('x', ''))})")
    out.forget()


def is_tagged(node: TaggedFields, out: WritingFunction, message: str) -> str:
    """Return a condition that is false if a tagged section is certainly empty."""
    there = [f"{message}.unknown_tags"]
    for field in node.fields.values():
        there.append(differs(f"{message}.{checked_attribute(field.name)}", out.source.literal(field.default)))
    return " or ".join(there)


def _write_section(node: TaggedFields, out: WritingFunction, unknown: str) -> str:
    """Emit the function that writes a section: each known field into its own buffer, because its size comes first."""
    inner = WritingFunction(out.source, out.source.fresh("tagged"), "m")
    inner.line("fields = []")
    for tag, field in node.fields.items():
        value = f"m.{checked_attribute(field.name)}"
        default = out.source.literal(field.default)
        with inner.block(f"if not is_default({value}, {default}):"):
            inner.line("o = []")
            write_node(field.subcon, inner, value)
            inner.finish()
            inner.line(f"fields.append(({tag}, b''.join(o)))")
    inner.line(f"return section(fields, m.unknown_tags, {unknown})")
    return inner.name


def differs(value: str, default: str) -> str:
    """Return a condition that is true if a value may differ from the default, and false if it does not."""
    return f"{value} is not None" if default == "None" else f"{value} != {default}"
