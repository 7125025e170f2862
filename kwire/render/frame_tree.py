"""Renders a decoded frame as a tree of fields."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ..codecs.message_codec import Codec
from ..codecs.wire import Content, Field, Integer, Struct, content_of, split_tags
from ..errors import DecodeError
from ..protocol import Request, Response, Result, SaslMessage, Token, Undecodable
from ..protocol.nested.versioned_message import embedded_codec
from ..values import Value, kind_of
from .colours import PLAIN, Style
from .enum_names import name_of
from .escaping import escape
from .frame_title import is_note, note, title
from .json_objects.frame_json import sender_of
from .nested_fields import member_data, record_lines
from .sasl_token import token_text
from .value_text import count_text, error_lines, format_bytes, value_text

if TYPE_CHECKING:
    from ..serdes import RecordDeserializer

ROW = 16
SHOWN = 4 * ROW  # bytes of an undecodable frame
TopicOf = Callable[[bytes], str | None]


def indented(style: Style, depth: int) -> Style:
    """Return a style for lines at this depth of a tree."""
    return style._replace(width=max(style.width - 2 * depth, 40))


def tree(
    result: Result,
    style: Style = PLAIN,
    topic_of: TopicOf | None = None,
    values: RecordDeserializer | None = None,
) -> Iterator[str]:
    """Yield the lines of a frame: a title, one line per field, then faults and the message nested in it.

    An undecodable frame has its error and the bytes around it, a SASL token its content, and a note only one line.

    Args:
        result: the decoded frame.
        style: colours and width.
        topic_of: returns the name of a topic id, which is then written beside the id; None if it is unknown.
        values: decodes keys and values of records by schema.
    """
    if is_note(result):
        yield style.paint("dim", escape(note(result)))
        return
    yield style.paint("error" if isinstance(result, Undecodable) else "title", escape(title(result)))
    if isinstance(result, Undecodable):
        yield from _undecodable(result, style)
        return
    if isinstance(result, Token):
        yield f"  {escape(token_text(result.content))}"
        return
    protocol = getattr(result.message, "protocol_type", None) or None
    look = _Look(result.codec.name, style, protocol, topic_of=topic_of, values=values)
    yield from _struct(result.codec.tree, result.message, 1, look)
    yield from _faults(result.faults, style)
    yield from _inside(result, look)


def _inside(result: Request | Response, look: _Look) -> Iterator[str]:
    """Yield the lines of the message nested in a message, below it."""
    inside = result.inside
    if isinstance(inside, SaslMessage):
        yield f"  {escape(token_text(inside))}"
    elif inside is not None:
        if isinstance(result, Request):
            principal, host = sender_of(result.message)
            yield escape(f"  forwarded for {principal or 'an unknown principal'} from {host}:")
        else:
            yield "  forwarded answer:"
        yield from (f"    {line}" for line in tree(inside, look.style, look.topic_of, look.values))


def fields(codec: Codec, message: Any, depth: int, style: Style = PLAIN) -> Iterator[str]:
    """Yield the lines of a message's fields, at a depth of a tree."""
    yield from _struct(codec.tree, message, depth, _Look(codec.name, style))


class _Look(NamedTuple):
    """The message to render, the style, and the types of the bytes in its fields."""

    message: str
    style: Style
    protocol: str | None = None  # the protocol type of the group
    topic: str | None = None
    topic_of: TopicOf | None = None
    values: RecordDeserializer | None = None


def _struct(node: Struct, value: Any, depth: int, look: _Look) -> Iterator[str]:
    tagged = node.tagged.fields.values() if node.tagged else ()
    topic = getattr(value, "topic", None) or getattr(value, "name", None)
    if topic is None and look.topic_of is not None and isinstance(getattr(value, "topic_id", None), bytes):
        topic = look.topic_of(value.topic_id)
    look = look._replace(topic=topic if isinstance(topic, str) else look.topic)
    for field in node.all_fields:
        member = getattr(value, field.name)
        if field not in tagged or member != field.default:
            kind = kind_of(look.message, node.message_class.__name__, field.json_name)
            yield from _field(field, member, depth, look, kind)
    for tag, data in split_tags(value.unknown_tags):
        yield _line(f"unknown_tags[{tag}]", value_text(data), depth, look.style)


def _field(field: Field, value: Any, depth: int, look: _Look, kind: type[Value] | None) -> Iterator[str]:
    content = content_of(field.subcon)
    inner = content.struct
    if value is None or inner is None:
        text = _inline(content, value, look.style, kind)
        if look.topic_of is not None and field.name == "topic_id" and isinstance(value, bytes):
            name = look.topic_of(value)
            text += "" if name is None else look.style.paint("dim", f"  {escape(name)}")
        yield _line(str(field.name), text, depth, look.style)
        yield from _content_lines(str(field.name), value, depth + 1, look)
    elif not content.is_array:
        yield "  " * depth + look.style.paint("name", f"{field.name}:")
        yield from _struct(inner, value, depth + 1, look)
    else:
        yield _line(str(field.name), count_text(len(value)) if value else "[]", depth, look.style)
        for index, item in enumerate(value):
            yield "  " * (depth + 1) + look.style.paint("dim", f"{field.name}[{index}]")
            yield from _struct(inner, item, depth + 2, look)


def _content_lines(name: str, value: Any, depth: int, look: _Look) -> Iterator[str]:
    """Yield the decoded content of a field's bytes, below the field."""
    indent, data = "  " * depth, member_data(look.message, name, value, look.protocol)
    codec = None if data is None else embedded_codec(data)
    if data is not None and codec is not None:
        yield f"{indent}{look.style.paint('dim', f'{data.name} v{data.version}')}"
        yield from fields(codec, data.message, depth + 1, look.style)
    style = indented(look.style, depth)
    yield from (indent + line for line in record_lines(look.message, name, value, look.topic, style, look.values))


def _inline(content: Content, value: Any, style: Style, kind: type[Value] | None) -> str:
    type_name = content.node.type_name
    if content.is_array and value is not None:
        return "[" + ", ".join(value_text(item, type_name, 200) for item in value) + "]"
    text = value_text(value, type_name, max(style.width - 20, 40))
    return text if value is None or not isinstance(content.node, Integer) else f"{text} {name_of(kind, value)}".rstrip()


def _line(name: str, text: str, depth: int, style: Style) -> str:
    return f"{'  ' * depth}{style.paint('name', f'{name}:')} {style.paint('value', text)}"


def _faults(faults: tuple[DecodeError, ...], style: Style) -> Iterator[str]:
    for fault in faults:
        yield "  " + style.paint("warning", escape(f"! {type(fault).__name__}: {fault}"))


def _undecodable(result: Undecodable, style: Style) -> Iterator[str]:
    for line in error_lines(result.error, style):
        yield f"  {line}"
    if result.error.partial:
        text = f"decoded so far: {escape(_partial(result.error.partial))}"
        yield from textwrap.wrap(
            text, style.width - 4, initial_indent="  ", subsequent_indent="    ", max_lines=12, break_on_hyphens=False
        )
    if result.hidden:
        yield f"  [hidden] ({count_text(result.hidden, 'byte')}); --show-secrets shows them"
    else:
        yield from _window(result.frame.data, result.error.offset, style)


def _window(raw: bytes, offset: int, style: Style) -> Iterator[str]:
    """Show the bytes around an offset, and point at it."""
    first = max(offset // ROW - 1, 0) * ROW
    for start in range(first, min(first + SHOWN, len(raw) + 1), ROW):
        row = format_bytes(raw[start : start + ROW])
        yield f"  {style.paint('dim', f'{start:08x}')}  {row}".rstrip()
        if start <= offset < start + ROW:
            yield " " * (12 + 3 * (offset - start)) + style.paint("error", "^ here")
    more = len(raw) - first - SHOWN
    if more > 0:
        yield f"  ... and {count_text(more, 'byte')} more; kwire explain shows all of them"


def _partial(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}={_partial(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_partial, value)) + "]"
    return value_text(value) if not isinstance(value, tuple) else f"({', '.join(map(_partial, value))})"
