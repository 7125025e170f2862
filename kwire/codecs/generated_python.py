"""Compiles a construct tree to straight-line Python code that decodes and encodes it fast; has an emitter per node
class.

The code handles only valid input: if it raises one of `REFUSALS`, the codec uses the reference path for the error. It
accepts exactly the bytes that the reference path decodes without faults or notes: those that encode to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import calcsize
from typing import Any

import msgspec

from ..caches import once_attribute
from ..messages.classes import constructor_of
from ..native import Refused
from ..wire import (
    COMPACT_LENGTH,
    INT8,
    Array,
    Boolean,
    Bytes,
    Float64,
    Integer,
    Node,
    NullableStruct,
    Records,
    String,
    Struct,
    TaggedFields,
    UnsignedVarint,
    Uuid,
)
from .json import JsonWriter, json_writer
from .python_emitter import (
    CONSTANTS,
    SHORT,
    NoEmitter,
    Reads,
    Source,
    Writes,
    attribute,
    emit_read,
    emit_write,
    packed_lengths,
    packers,
    read,
    refuse,
    unpackers,
    write,
)

__all__ = [
    "Decoder",
    "Encoder",
    "Generated",
    "NoEmitter",
    "Refused",
    "compile_decoder",
    "compile_encoder",
    "decoder_source",
    "elements_of",
    "encoder_source",
    "refuse",
]


def code_of(node: Any) -> str:
    """Return the format code of a number."""
    return "d" if isinstance(node, Float64) else str(node.struct.format[-1:])


def type_of(node: Node) -> str:
    """Return the type of a number; its packer accepts more types."""
    return "float" if isinstance(node, Float64) else "int"


@emit_read.register(Integer)
@emit_read.register(Float64)
def _(node: Integer | Float64, out: Reads) -> str:
    return out.fixed(code_of(node))


@emit_write.register(Integer)
@emit_write.register(Float64)
def _(node: Integer | Float64, out: Writes, value: str) -> None:
    out.fixed(code_of(node), out.held(value), type_of(node))


@emit_read.register
def _(node: Boolean, out: Reads) -> str:
    return f"BOOL[{out.fixed('B')}]"  # the table has two items: only the bytes 0 and 1 are valid indexes


@emit_write.register
def _(node: Boolean, out: Writes, value: str) -> None:
    out.fixed("?", out.held(value), "bool")


@emit_read.register
def _(node: Uuid, out: Reads) -> str:
    return out.fixed("16s")


@emit_write.register
def _(node: Uuid, out: Writes, value: str) -> None:
    variable = out.held(value)
    out.line(f"if type({variable}) is not bytes or len({variable}) != 16: uuids({variable})")
    out.fixed("16s", variable)


MOST = 2**31 - 1


def read_length(length: Node, out: Reads, *, nullable: bool, most: int = MOST) -> tuple[str, str, int]:
    """Emit code that reads a length that is null or from 0 to `most`.

    Returns:
        A condition that the length is not null ("" if null is refused), a variable, and the offset of the length in it.
    """
    if length is COMPACT_LENGTH:
        variable = _read_compact(out, nullable, most)
        return variable if nullable else "", variable, 1
    if type(length) is not Integer:
        raise NoEmitter(f"no reading is written for the length {type(length).__name__}")
    variable = out.fixed(code_of(length))
    least = -1 if nullable else 0
    test = f"{variable} < {least}" if most >= length.high else f"not {least} <= {variable} <= {most}"
    out.early(f"if {test}: raise Refused")
    return f"{variable} >= 0" if nullable else "", variable, 0


def _read_compact(out: Reads, nullable: bool, most: int) -> str:
    variable, signed = out.byte()
    if signed:
        test = f"{variable} < {0 if nullable else 1}"
    else:
        test = f"{variable} > 127" if nullable else f"{variable} > 127 or {variable} < 1"
    back = f"; p -= {out.behind}" if out.behind else ""
    out.early(f"if {test}: {variable}, p = wide(b, {out.at()}, {most + 1}){back}")
    if most < 126:
        out.early(f"if {variable} > {most + 1}: raise Refused")
    return variable


def write_length(length: Any, out: Writes, size: str, most: int = MOST, behind: str = "") -> None:
    """Emit code that writes the pending values, a length (a variable), and the bytes after it (an expression)."""
    if length is not COMPACT_LENGTH:
        if most < length.high:
            out.line(f"if {size} > {most}: raise Refused")
        packed = out.packed((code_of(length), size))  # its struct refuses lengths that are too large
        if not out.waits:
            table = out.source.constant("K", packed_lengths(code_of(length)), f"pack >{code_of(length)} of 0, 1, 2 ...")
            packed = f"({table}[{size}] if {size} < {len(packed_lengths('h'))} else {packed})"
        out.check()
        out.forget()
        out.line(f"o.append({' + '.join(filter(None, (packed, behind)))})")
        return
    out.check()
    long = out.piece(f"long({size}, {most})", behind)
    out.fixed("B", f"{size} + 1")
    out.line(f"if {size} < {min(most + 1, 127)}: {out.piece(behind)}")
    out.line(f"else: {long}")
    out.forget()


def write_null(length: Node, out: Writes) -> str:
    """Return an expression for the pending values and null."""
    return out.packed(("x", "") if length is COMPACT_LENGTH else (code_of(length), "-1"))


@emit_read.register
def _(node: String, out: Reads) -> str:
    return _read_counted(node, out, ".decode()", node.longest)


@emit_read.register(Bytes)
@emit_read.register(Records)
def _(node: Bytes, out: Reads) -> str:
    return _read_counted(node, out, "", MOST)


def _read_counted(node: String | Bytes, out: Reads, decode: str, most: int) -> str:
    there, length, more = read_length(node.length, out, nullable=node.nullable, most=most)
    value = out.variable()
    cut = f"{value} = b[{out.at()}:(p := {out.at(-more)} + {length})]{decode}"
    if there:
        out.early(f"if {there}: {cut}")
        out.early(f"else: {value} = None{out.step()}")
    else:
        out.early(cut)
    out.arrived()
    return value


@emit_write.register
def _(node: String, out: Writes, value: str) -> None:
    _write_counted(node, out, value, "utf8({})")


@emit_write.register(Bytes)
@emit_write.register(Records)
def _(node: Bytes, out: Writes, value: str) -> None:
    _write_counted(node, out, value, "{0} if type({0}) is bytes else raw({0})")


def _write_counted(node: String | Bytes, out: Writes, value: str, encode: str) -> None:
    variable = out.held(value)
    if not node.nullable:
        _write_value(node, out, variable, encode)
        return
    out.check()
    out.line(f"if {variable} is None: o.append({write_null(node.length, out)})")
    with out.block("else:"):
        _write_value(node, out, variable, encode)


def _write_value(node: String | Bytes, out: Writes, variable: str, encode: str) -> None:
    out.line(f"{variable} = {encode.format(variable)}; n = len({variable})")
    if isinstance(node, String):
        write_length(node.length, out, "n", node.longest, variable)
    else:  # may be long, so it is copied only once
        write_length(node.length, out, "n")
        out.append(variable)


def read_tagged(node: TaggedFields, out: Reads) -> dict[str, str]:
    """Emit code that reads a tagged section; return expressions of the known fields and of `unknown_tags`."""
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
    """Emit the function that reads a section of known and unknown tags in ascending order."""
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
                # A tag with its default is valid but noted, so it is left to the reference path.
                inner.line(f"if p != stop or {variable} == {out.source.literal(field.default)}: raise Refused")
        inner.line(f"else: unknown += unknown_tag(b, start, stop, tag, {foreign}); p = stop")
    inner.line(f"return {', '.join(variables)}, bytes(unknown) or None, p")
    return inner.name


def write_tagged(node: TaggedFields, out: Writes, message: str) -> None:
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
    out.line(f"else: o.append({out.packed(('x', ''))})")
    out.forget()


def is_tagged(node: TaggedFields, out: Writes, message: str) -> str:
    """Return a condition that is false if a tagged section is certainly empty."""
    there = [f"{message}.unknown_tags"]
    for field in node.fields.values():
        there.append(differs(f"{message}.{attribute(field.name)}", out.source.literal(field.default)))
    return " or ".join(there)


def _write_section(node: TaggedFields, out: Writes, unknown: str) -> str:
    """Emit the function that writes a section: each known field into its own buffer, because its size comes first."""
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
    """Return a condition that is true if a value may differ from the default, and false if it does not."""
    return f"{value} is not None" if default == "None" else f"{value} != {default}"


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
    # For structs with only tags: a byte must not become an object, and an immutable object can be shared.
    empty = node.message_class(**{absent.name: absent.default for absent in node.absent})
    return f"({out.source.constant('D', empty)} if {values['unknown_tags']} is None else {message})"


def construct(node: Struct, source: Source, values: dict[str, str]) -> str:
    """Return the call that creates a message; trailing arguments equal to the defaults are omitted."""
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
    """Emit checks that a message has the struct's class, and no value that the version cannot represent.

    A value that differs from the default may still be an empty sequence: `keep` checks that.
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
    marker = out.fixed("b")  # also for a varint: more than one byte would be overlong
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


DEEPEST = 6  # nested loops per function; Python allows twenty


@emit_read.register
def _(node: Array, out: Reads) -> str:
    if type(node.element) in (Integer, Float64):
        return _read_numbers(node, out)
    there, length, more = read_length(node.length, out, nullable=node.nullable)
    count = f"{length} - {more}" if more else length
    value = out.variable()
    if not there:
        _read_elements(node, out, value, count)
        return value
    with out.block(f"if {there}:"):
        _read_elements(node, out, value, count)
    out.line(f"else: {value} = None")
    return value


def _read_elements(node: Array, out: Reads, value: str, count: str) -> None:
    if out.loops == DEEPEST:
        out.line(f"{value}, p = {read_counted(node, out.source)}(b, p, {count})")
        return
    _loop(node, out, count)
    out.line(f"{value} = tuple(a{out.loops + 1})")


def read_counted(node: Array, source: Source) -> str:
    """Emit the function that reads some elements; return its name."""
    out = Reads(source, source.fresh("elements"), "b, p, n")
    if type(node.element) in (Integer, Float64):
        out.line(f"return numbers(b, p, n, '{code_of(node.element)}', {node.element.least}, False)")
    else:
        _loop(node, out, "n")
        out.line("return tuple(a1), p")
    return out.name


def _loop(node: Array, out: Reads, count: str) -> None:
    """Emit a loop over elements; its variables `a`, `n` and so on are numbered by nesting depth."""
    out.loops += 1
    out.line(f"a{out.loops} = []; n{out.loops} = {count}")
    element: Any = node.element
    fields = _fixed_fields(element)
    if fields:
        _fixed_loop(element, fields, out)
    else:
        _straight_loop(node.element, out, f"n{out.loops}")
    out.loops -= 1


def _straight_loop(element: Any, out: Reads, left: str) -> None:
    with out.block(f"while {left}:"):
        out.line(f"{left} -= 1")
        message = read(element, out)
        out.line(f"a{out.loops}.append({message})")


def _fixed_fields(node: Any) -> dict[str, tuple[str, str]]:
    """Return the fields of a struct with their format codes and value expressions; empty if one has a variable size."""
    found = {}
    for field in node.fields if type(node) is Struct else ():
        kind = type(field.subcon)
        if kind in (Integer, Float64):
            found[attribute(field.name)] = code_of(field.subcon), "{}"
        elif kind in _FORMS:
            found[attribute(field.name)] = _FORMS[kind]
        else:
            return {}
    return found


_FORMS = {Boolean: ("B", "BOOL[{}]"), Uuid: ("16s", "{}")}


def _fixed_loop(node: Struct, fields: dict[str, tuple[str, str]], out: Reads) -> None:
    """Unpack elements of fixed size with one iterator, up to the first with tags.

    This is 1.6 times as fast as one by one, for ApiVersions.
    """
    codes = "".join(code for code, _ in fields.values()) + ("B" if node.tagged is not None else "")
    absent = [*node.absent, *(node.tagged.fields.values() if node.tagged is not None else ())]
    values = {attribute(one.name): out.source.literal(one.default) for one in absent}
    targets = []
    for name, (_, form) in fields.items():
        targets.append(out.variable())
        values[name] = form.format(targets[-1])
    tagged = ["t"] if node.tagged is not None else []
    size = calcsize(f">{codes}")
    a, n = f"a{out.loops}", f"n{out.loops}"
    unpack = out.source.struct(codes, "iter_unpack")
    with out.block(f"for {', '.join(targets + tagged)}, in {unpack}(b[p:p + {size} * {n}]):"):
        if tagged:
            out.line("if t: break")
        out.line(f"{a}.append({construct(node, out.source, values)})")
    out.line(f"p += {size} * len({a}); {n} -= len({a})")
    if tagged:
        _straight_loop(node, out, n)
    else:
        out.line(f"if {n}: raise Refused")


def _read_numbers(node: Array, out: Reads) -> str:
    """Unpack a short array with one struct from a table, indexed by its count."""
    code, size = code_of(node.element), node.element.least
    value = out.variable()
    compact = node.length is COMPACT_LENGTH
    table = out.source.constant("N", unpackers(code, compact), f"unpack_from >0{code}, >1{code}, >2{code} ...")
    count = out.byte()[0] if compact else out.fixed("i")
    # Two comparisons instead of a chained one: Python's jumps are twice as fast.
    test = f"{count} > 0 and {count} <= {SHORT}" if compact else f"{count} >= 0 and {count} < {SHORT}"
    out.settle()
    start, back = out.at(), out.behind - size * compact
    step = f"{size} * {count}" + (f" {'+' if back > 0 else '-'} {abs(back)}" if back else "")
    out.early(f"if {test}: {value} = {table}[{count}](b, {start}); p += {step}")
    long = "compact_numbers" if compact else "numbers"
    out.early(f"else: {value}, p = {long}(b, {start}, {count}, '{code}', {size}, {node.nullable})")
    out.arrived()
    return value


@emit_write.register
def _(node: Array, out: Writes, value: str) -> None:
    variable = out.held(value)
    if not node.nullable:
        _write_array(node, out, variable)
        return
    out.check()
    out.line(f"if {variable} is None: o.append({write_null(node.length, out)})")
    with out.block("else:"):
        _write_array(node, out, variable)


def _write_array(node: Array, out: Writes, variable: str) -> None:
    out.line(f"if type({variable}) is not tuple: sequence({variable})")
    if type(node.element) in (Integer, Float64):
        _write_numbers(node, out, variable)
        return
    out.line(f"n = len({variable})")
    write_length(node.length, out, "n")
    if out.loops == DEEPEST:
        inner = Writes(out.source, out.source.fresh("elements"), "v, o")
        _write_loop(node, inner, "v")
        out.line(f"{inner.name}({variable}, o)")
    else:
        _write_loop(node, out, variable)


def _write_loop(node: Array, out: Writes, items: str) -> None:
    out.loops += 1
    item = out.variable()
    with out.block(f"for {item} in {items}:"):
        write(node.element, out, item)
    out.loops -= 1


def _write_numbers(node: Array, out: Writes, variable: str) -> None:
    """Pack a short array and its count with one struct from a table."""
    code, type_name = code_of(node.element), type_of(node.element)
    prefix, count = ("B", "n + 1") if node.length is COMPACT_LENGTH else ("i", "n")
    table = out.source.constant("Q", packers(prefix, code), f"pack >{prefix}0{code}, >{prefix}1{code} ...")
    out.check()
    out.line(f"for x in {variable}:")
    out.line(f"    if type(x) is not {type_name}: {type_name}s(x)")
    out.line(f"n = len({variable})")
    out.line(f"if n < {SHORT}: {out.piece(f'{table}[n]({count}, *{variable})')}")
    long = "long_compact" if node.length is COMPACT_LENGTH else "long_numbers"
    call = f"{long}(n, '{code}', {variable})"
    out.line(f"else: {out.piece(call)}")
    out.forget()


Decoder = Callable[[bytes, int], tuple[Any, int]]
Encoder = Callable[[Any], bytes]


def decoder_source(schema: Struct, title: str = "schema") -> Source:
    """Generate the source of a tree's decoder."""
    source = Source(f"{title}: decode", **CONSTANTS)
    out = Reads(source, source.fresh("decode"))
    message = read(schema, out)
    out.line(f"return {message}, p")
    return source


def compile_decoder(schema: Struct, title: str) -> Decoder:
    """Compile the decoder of a tree.

    Args:
        schema: the tree.
        title: the name of the source in tracebacks.

    Returns:
        A function of bytes and a position that returns the message and the position after it. A position after the end
        of the bytes means that they are truncated. Exceptions have no details.

    Raises:
        NoEmitter: there is a node that the compiler does not support.
    """
    decoder: Decoder = decoder_source(schema, title).run()["decode"]
    return decoder


def elements_of(array: Array, title: str) -> Callable[[bytes, int, int], tuple[Sequence[Any], int]] | None:
    """Compile the function that reads elements of an array, for `Reader.ahead`; None if there is no emitter."""
    source = Source(f"{title}: elements", **CONSTANTS)
    try:
        name = read_counted(array, source)
    except NoEmitter:
        return None
    elements: Callable[[bytes, int, int], tuple[Sequence[Any], int]] = source.run()[name]
    return elements


def encoder_source(schema: Struct, title: str = "schema") -> Source:
    """Generate the source of a tree's encoder."""
    source = Source(f"{title}: encode", **CONSTANTS)
    out = Writes(source, source.fresh("encode"), "m")
    out.line("o = []")
    write(schema, out, "m")
    out.finish()
    out.line("return b''.join(o)")
    return source


def compile_encoder(schema: Struct, title: str) -> Encoder:
    """Compile the encoder of a tree: a function of a message that returns its bytes. See `compile_decoder`."""
    encoder: Encoder = encoder_source(schema, title).run()["encode"]
    return encoder


class Generated:
    """Python source generated for a schema tree, compiled on first use."""

    def __init__(self, schema: Struct, title: str) -> None:
        self.schema: Struct = schema
        self.title: str = title

    def decode(self, data: bytes) -> Any:
        """Decode a body that ends with the bytes."""
        message, stop = self._decoder(data, 0)
        if stop != len(data):
            raise Refused
        return message

    def decode_from(self, data: bytes, start: int) -> tuple[Any, int]:
        """Decode a body at a position; return the message and the position after it."""
        message, stop = self._decoder(data, start)
        if stop > len(data):
            raise Refused
        return message, stop

    def json(self, data: bytes, start: int = 0) -> bytes:
        """Return the JSON text of a body that starts at a position and ends with the bytes."""
        message, stop = self.decode_from(data, start)
        if stop != len(data):
            raise Refused
        return msgspec.json.encode(self._json_writer(message))

    @once_attribute
    def _decoder(self) -> Callable[[bytes, int], tuple[Any, int]]:
        try:
            return compile_decoder(self.schema, self.title)
        except NoEmitter:  # a node class from outside kwire: only the reference path supports it
            return refuse

    @once_attribute
    def encode(self) -> Callable[[Any], bytes]:
        """Encode a message."""
        try:
            return compile_encoder(self.schema, self.title)
        except NoEmitter:
            return refuse

    @once_attribute
    def _json_writer(self) -> JsonWriter:
        writer = json_writer(self.schema)
        assert writer is not None
        return writer
