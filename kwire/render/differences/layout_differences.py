"""The differences between the layouts of two versions of a message."""

from __future__ import annotations

from collections.abc import Iterator

from ...codecs.message_codec import Codec
from ..colours import PLAIN, Style
from ..schema_layout import LayoutRow, rows

NOTHING = "  no field differs"


def layout_differences(left: Codec | None, right: Codec | None) -> Iterator[tuple[str, str]]:
    """Yield the differences between two layouts, in wire order.

    Args:
        left, right: the codecs; None for a missing message.

    Yields:
        (sign, text): `+` for added fields, `-` for removed, `~` for changed ones.

    >>> import kwire
    >>> list(layout_differences(kwire.codec("MetadataRequest", 3), kwire.codec("MetadataRequest", 4)))
    [('+', 'allow_auto_topic_creation: bool')]
    """
    before = {row.path: row for row in rows(left)} if left else {}
    after = {row.path: row for row in rows(right)} if right else {}
    for path in _in_order(list(before), list(after)):
        if path not in before:
            yield "+", _text(after[path])
        elif path not in after:
            yield "-", _text(before[path])
        elif _text(before[path]) != _text(after[path]):
            yield "~", f"{_text(before[path])} -> {_text(after[path]).removeprefix(f'{path}: ')}"


def layout_difference_lines(left: Codec | None, right: Codec | None, style: Style = PLAIN) -> Iterator[str]:
    """Yield the differences as lines; one line if there are none."""
    differences = list(layout_differences(left, right))
    flexible = [codec is not None and codec.tree.tagged is not None for codec in (left, right)]
    if flexible[0] != flexible[1] and left and right:
        yield f"  ~ {'flexible (compact lengths, tagged fields)' if flexible[1] else 'not flexible'} from here on"
    for sign, text in differences:
        kind = {"+": "title", "-": "error", "~": "warning"}[sign]
        yield f"  {style.paint(kind, sign)} {text}"
    if not differences and flexible[0] == flexible[1]:
        yield NOTHING


def _text(row: LayoutRow) -> str:
    # Fields that become compact in a flexible version are one change of the version, not a change of each field.
    kind = row.type.replace("compact ", "")
    return f"{row.path}: {kind}" + ("" if row.tag is None else f", tag {row.tag}")


def _in_order(before: list[str], after: list[str]) -> list[str]:
    """Merge two orders of paths: a path in only one of them follows its predecessor there."""
    merged = list(after)
    position = 0
    for path in before:
        if path in merged:
            position = merged.index(path) + 1
        else:
            merged.insert(position, path)
            position += 1
    return merged
