"""Emitters of tagged sections. Most are empty: one byte. What is in the others is read by a function of its own."""

from __future__ import annotations

from ..wire import TaggedFields
from .runs import Reads, Writes
from .source import attribute
from .walk import read, write


def read_tagged(node: TaggedFields, out: Reads) -> dict[str, str]:
    """Emit the reading of a tagged section; return an expression of each known field, and of `unknown_tags`."""
    fields = list(node.fields.values())
    foreign = out.source.constant("F", node.foreign, f"tags of other versions: {sorted(node.foreign)}")
    names = [attribute(field.name) for field in fields]
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
    out.arrived()
    return dict(zip([*names, "unknown_tags"], variables, strict=True))


def _section(node: TaggedFields, out: Reads, foreign: str) -> str:
    """Write the function that reads a section of known and unknown tags, which must ascend."""
    inner = Reads(out.source, out.source.fresh("tagged"))
    inner.line("n, p = varint(b, p); last = -1; unknown = bytearray()")
    variables = [inner.variable() for _ in node.fields]
    for variable, field in zip(variables, node.fields.values(), strict=True):
        inner.line(f"{variable} = {out.source.literal(field.default)}")
    with inner.block("for _ in range(n):"):
        inner.line("start = p; tag, p = varint(b, p); size, p = varint(b, p); stop = p + size")
        inner.line("if tag <= last: raise Refused")
        inner.line("last = tag")
        for variable, (tag, field) in zip(variables, node.fields.items(), strict=True):
            with inner.block(f"{'if' if variable == variables[0] else 'elif'} tag == {tag}:"):
                inner.note(attribute(field.name))
                inner.line(f"{variable} = {read(field.subcon, inner)}")
                # What holds its default is legal and told: by the reference path.
                inner.line(f"if p != stop or {variable} == {out.source.literal(field.default)}: raise Refused")
        inner.line(f"else: unknown += unknown_tag(b, start, stop, tag, {foreign}); p = stop")
    inner.line(f"return {', '.join(variables)}, bytes(unknown) or None, p")
    return inner.name


def write_tagged(node: TaggedFields, out: Writes, message: str) -> None:
    """Emit the writing of what waits and a tagged section."""
    fields = list(node.fields.values())
    if fields:
        unknown = out.source.constant("T", node.unknown_entries, "unknown tagged fields, checked")
        section = f"{_write_section(node, out, unknown)}({message})"
    else:
        unknown = out.source.constant("T", node.unknown_section, "a section of unknown tagged fields")
        section = f"unknown({message}.unknown_tags, {unknown})"
    out.check()
    out.line(f"if {is_tagged(node, out, message)}: {out.piece(section)}")
    out.line(f"else: o.append({out.packed(('x', ''))})")
    out.forget()


def is_tagged(node: TaggedFields, out: Writes, message: str) -> str:
    """Return a condition that is false where a tagged section is surely empty."""
    there = [f"{message}.unknown_tags"]
    for field in node.fields.values():
        there.append(differs(f"{message}.{attribute(field.name)}", out.source.literal(field.default)))
    return " or ".join(there)


def _write_section(node: TaggedFields, out: Writes, unknown: str) -> str:
    """Write the function that writes a section: each known field into a buffer of its own, for its size."""
    inner = Writes(out.source, out.source.fresh("tagged"), "m")
    inner.line("fields = []")
    for tag, field in node.fields.items():
        held, default = f"m.{attribute(field.name)}", out.source.literal(field.default)
        with inner.block(f"if not is_default({held}, {default}):"):
            inner.line("o = []")
            write(field.subcon, inner, held)
            inner.finish()
            inner.line(f"fields.append(({tag}, b''.join(o)))")
    inner.line(f"return section(fields, m.unknown_tags, {unknown})")
    return inner.name


def differs(value: str, default: str) -> str:
    """Return a condition that is true where a value may not be the default, and false where it is."""
    return f"{value} is not None" if default == "None" else f"{value} != {default}"
