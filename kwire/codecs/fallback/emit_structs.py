"""Emits code for structs and nullable structs."""

from __future__ import annotations

from typing import Any

from ...schema.message_classes import constructor_of
from ..wire import INT8, NullableStruct, Struct, UnsignedVarint
from .emit_tagged_fields import differs, read_tagged, write_tagged
from .reading_functions import ReadingFunction, emit_read, read_node
from .source_builder import GeneratedSource, NoEmitter, checked_attribute
from .writing_functions import WritingFunction, emit_write, write_node


@emit_read.register
def _emit_reading_of_struct(node: Struct, out: ReadingFunction) -> str:
    values = {absent.name: out.source.literal(absent.default) for absent in node.absent}
    for field in node.fields:
        out.note(checked_attribute(field.name))
        values[field.name] = read_node(field.subcon, out)
    if node.tagged is not None:
        values |= read_tagged(node.tagged, out)
    out.settle()
    message = construct(node, out.source, values)
    if node.fields or node.tagged is None or node.tagged.fields:
        return message
    # For structs with only tags: a byte must not become an object, and an immutable object can be shared.
    empty = node.message_class(**{absent.name: absent.default for absent in node.absent})
    return f"({out.source.constant('D', empty)} if {values['unknown_tags']} is None else {message})"


def construct(node: Struct, source: GeneratedSource, values: dict[str, str]) -> str:
    """Return the call that creates a message; trailing arguments equal to the defaults are omitted."""
    cls = node.message_class
    name = source.constant("C", constructor_of(cls), checked_attribute(cls.__name__))
    names: tuple[str, ...] = cls.__struct_fields__
    if values.keys() - {"unknown_tags"} != set(names) - {"unknown_tags"}:
        raise NoEmitter(f"the fields of {cls.__name__} and of its tree differ")
    arguments = [values.get(field, "None") for field in names]
    defaults = _defaults(node, source)
    while arguments and defaults.get(names[len(arguments) - 1]) == arguments[-1]:
        arguments.pop()
    return f"{name}({', '.join(arguments)})"


def _defaults(node: Struct, source: GeneratedSource) -> dict[str, str]:
    known = {absent.name: source.literal(absent.default) for absent in node.absent}
    return known | {"unknown_tags": "None"}


@emit_write.register
def _emit_writing_of_struct(node: Struct, out: WritingFunction, value: str) -> None:
    message = out.held(value)
    check_message(node, out, message)
    for field in node.fields:
        write_node(field.subcon, out, f"{message}.{checked_attribute(field.name)}")
    if node.tagged is not None:
        write_tagged(node.tagged, out, message)


def check_message(node: Struct, out: WritingFunction, message: str) -> None:
    """Emit checks that a message has the struct's class, and no value that the version cannot represent.

    A value that differs from the default may still be an empty sequence: `keep` checks that.
    """
    cls = node.message_class
    name = out.source.constant("C", cls, checked_attribute(cls.__name__))
    out.line(f"if type({message}) is not {name}: raise Declined")
    lost = {checked_attribute(absent.name): absent.default for absent in node.absent if not absent.ignorable}
    tests = [differs(f"{message}.{attribute}", out.source.literal(default)) for attribute, default in lost.items()]
    if node.tagged is None:
        tests.insert(0, f"{message}.unknown_tags")
        lost["unknown_tags"] = None
    if tests:
        fields = out.source.constant("L", tuple(lost.items()), "fields that would be lost, and their defaults")
        out.line(f"if {' or '.join(tests)}: keep({message}, {fields})")


@emit_read.register
def _emit_reading_of_nullable_struct(node: NullableStruct, out: ReadingFunction) -> str:
    if node.marker is not INT8 and type(node.marker) is not UnsignedVarint:
        raise NoEmitter(f"no reading is written for the marker {type(node.marker).__name__}")
    marker = out.fixed("b")  # also for a varint: more than one byte would be overlong
    value = out.variable()
    with out.block(f"if {marker} == 1:"):
        struct: Any = read_node(node.subcon, out)
        out.line(f"{value} = {struct}")
    out.line(f"elif {marker} == {node.null}: {value} = None")
    out.line("else: raise Declined")
    return value


@emit_write.register
def _emit_writing_of_nullable_struct(node: NullableStruct, out: WritingFunction, value: str) -> None:
    variable = out.held(value)
    out.check()
    out.line(f"if {variable} is None: o.append({out.pack_pending(('b', str(node.null)))})")
    with out.block("else:"):
        out.fixed("b", "1")
        write_node(node.subcon, out, variable)
