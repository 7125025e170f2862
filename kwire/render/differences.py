"""What differs between two layouts: fields that came, went or changed."""

from __future__ import annotations

from collections.abc import Iterator

from ..codecs import Codec
from .layout import Row, rows
from .style import PLAIN, Style

NOTHING = "  no field differs"


def layout_differences(one: Codec | None, other: Codec | None) -> Iterator[tuple[str, str]]:
    """Yield what changes from one layout to the other, in wire order.

    Args:
        one, other: the codecs; None for a message that is not there.

    Yields:
        (sign, text): `+` came, `-` went, `~` changed.

    >>> import kwire
    >>> list(layout_differences(kwire.codec("MetadataRequest", 3), kwire.codec("MetadataRequest", 4)))
    [('+', 'allow_auto_topic_creation: bool')]
    """
    before = {row.path: row for row in rows(one)} if one else {}
    after = {row.path: row for row in rows(other)} if other else {}
    for path in _in_order(list(before), list(after)):
        if path not in before:
            yield "+", _text(after[path])
        elif path not in after:
            yield "-", _text(before[path])
        elif _text(before[path]) != _text(after[path]):
            yield "~", f"{_text(before[path])} -> {_text(after[path]).removeprefix(f'{path}: ')}"


def difference_lines(one: Codec | None, other: Codec | None, style: Style = PLAIN) -> Iterator[str]:
    """Yield the differences as lines; one line if there are none."""
    found = list(layout_differences(one, other))
    flexible = [codec is not None and codec.schema.tagged is not None for codec in (one, other)]
    if flexible[0] != flexible[1] and one and other:
        yield f"  ~ {'flexible (compact lengths, tagged fields)' if flexible[1] else 'not flexible'} from here on"
    for sign, text in found:
        kind = {"+": "title", "-": "error", "~": "warning"}[sign]
        yield f"  {style.paint(kind, sign)} {text}"
    if not found and flexible[0] == flexible[1]:
        yield NOTHING


def _text(row: Row) -> str:
    # What turns compact in a flexible version is one change of the version, not one of each field.
    kind = row.type.replace("compact ", "")
    return f"{row.path}: {kind}" + ("" if row.tag is None else f", tag {row.tag}")


def _in_order(before: list[str], after: list[str]) -> list[str]:
    """Merge two orders of paths: what is only in one stays behind what it follows there."""
    merged = list(after)
    place = 0
    for path in before:
        if path in merged:
            place = merged.index(path) + 1
        else:
            merged.insert(place, path)
            place += 1
    return merged
