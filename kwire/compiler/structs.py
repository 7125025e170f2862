"""Emitters of structs, whose class is called by position, and of nullable ones."""

from __future__ import annotations

from typing import Any

from ..messages.classes import constructor_of
from ..wire import INT8, NullableStruct, Struct, UnsignedVarint
from .runs import Reads, Writes
from .source import NoEmitter, Source, attribute
from .tags import differs, read_tagged, write_tagged
from .walk import emit_read, emit_write, read, write


@emit_read.register
def _(node: Struct, out: Reads) -> str:
    values = {absent.name: out.source.literal(absent.default) for absent in node.absent}
    for field in node.fields:
        out.note(attribute(field.name))
        values[field.name] = read(field.subcon, out)
    if node.tagged is not None:
        values |= read_tagged(node.tagged, out)
    out.settle()
    message = construct(node, out.source, values)
    if node.fields or node.tagged is None or node.tagged.fields:
        return message
    # Of nothing but tags: a byte must not become an object, and one that never changes may be shared.
    empty = node.message_class(**{absent.name: absent.default for absent in node.absent})
    return f"({out.source.constant('D', empty)} if {values['unknown_tags']} is None else {message})"


def construct(node: Struct, source: Source, values: dict[str, str]) -> str:
    """Return the call that makes a message; the last arguments are left out where they are the defaults."""
    cls = node.message_class
    name = source.constant("C", constructor_of(cls), attribute(cls.__name__))
    names: tuple[str, ...] = cls.__struct_fields__
    if values.keys() - {"unknown_tags"} != set(names) - {"unknown_tags"}:
        raise NoEmitter(f"the fields of {cls.__name__} and of its tree differ")
    arguments = [values.get(field, "None") for field in names]
    defaults = _defaults(node, source)
    while arguments and defaults.get(names[len(arguments) - 1]) == arguments[-1]:
        arguments.pop()
    return f"{name}({', '.join(arguments)})"


def _defaults(node: Struct, source: Source) -> dict[str, str]:
    known = {absent.name: source.literal(absent.default) for absent in node.absent}
    return known | {"unknown_tags": "None"}


@emit_write.register
def _(node: Struct, out: Writes, value: str) -> None:
    message = out.held(value)
    check_message(node, out, message)
    for field in node.fields:
        write(field.subcon, out, f"{message}.{attribute(field.name)}")
    if node.tagged is not None:
        write_tagged(node.tagged, out, message)


def check_message(node: Struct, out: Writes, message: str) -> None:
    """Emit checks that a message is of the struct's class, and holds nothing that the version would lose.

    What is no default at first sight may be another empty sequence: `keep` looks twice.
    """
    cls = node.message_class
    name = out.source.constant("C", cls, attribute(cls.__name__))
    out.line(f"if type({message}) is not {name}: raise Refused")
    lost = {attribute(absent.name): absent.default for absent in node.absent if not absent.ignorable}
    tests = [differs(f"{message}.{held}", out.source.literal(default)) for held, default in lost.items()]
    if node.tagged is None:
        tests.insert(0, f"{message}.unknown_tags")
        lost["unknown_tags"] = None
    if tests:
        fields = out.source.constant("L", tuple(lost.items()), "fields that would be lost, and their defaults")
        out.line(f"if {' or '.join(tests)}: keep({message}, {fields})")


@emit_read.register
def _(node: NullableStruct, out: Reads) -> str:
    if node.marker is not INT8 and type(node.marker) is not UnsignedVarint:
        raise NoEmitter(f"no reading is written for the marker {type(node.marker).__name__}")
    marker = out.fixed("b")  # of a varint, too: more than one byte would be overlong
    value = out.variable()
    with out.block(f"if {marker} == 1:"):
        struct: Any = read(node.subcon, out)
        out.line(f"{value} = {struct}")
    out.line(f"elif {marker} == {node.null}: {value} = None")
    out.line("else: raise Refused")
    return value


@emit_write.register
def _(node: NullableStruct, out: Writes, value: str) -> None:
    variable = out.held(value)
    out.check()
    out.line(f"if {variable} is None: o.append({out.packed(('b', str(node.null)))})")
    with out.block("else:"):
        out.fixed("b", "1")
        write(node.subcon, out, variable)
