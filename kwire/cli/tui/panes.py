"""The panes of the terminal interface: frames, fields and bytes; only visible lines are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ...codecs.tracing import Span
from ...protocol import Result
from ...render.enum_names import EnumNames
from ...render.escaping import escape
from ...render.frame_line import fitted
from ...render.span_text import SEGMENT, joined, span_text
from ...render.value_text import with_name

PLAIN, DIM, CURSOR, MARKED = (
    RichStyle(),
    RichStyle(dim=True),
    RichStyle(reverse=True),
    RichStyle(bold=True, underline=True),
)


class LinePane(ScrollView, can_focus=True):
    """A column of lines with a cursor; lines are created when they are drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown,space", "page(1)", "page down", show=False),
        Binding("home,g", "to(0)", "first", show=False),
        Binding("end,G", "to(-1)", "last", show=False),
    ]

    class Moved(Message):
        """Message: the cursor moved to another line."""

        def __init__(self, pane: LinePane) -> None:
            super().__init__()
            self.pane: LinePane = pane

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.cursor: int = 0
        self.count: int = 0

    @property
    def width(self) -> int:
        """The columns for text, without those of the scroll bar."""
        return max(self.scrollable_content_region.width, 20)

    def text(self, line: int) -> list[tuple[str, RichStyle]]:
        """Return the parts of a line, with their styles."""
        raise NotImplementedError

    def grow(self, count: int) -> None:
        """Set the number of lines."""
        self.count = count
        self.cursor = max(0, min(self.cursor, count - 1))
        self.virtual_size: Size = Size(self.size.width, count)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        line, width = y + self.scroll_offset.y, self.size.width
        if line >= self.count:
            return Strip.blank(width)
        base = CURSOR if line == self.cursor else PLAIN
        segments = [Segment(text, base + style) for text, style in self.text(line)]
        return Strip(segments).adjust_cell_length(width, base).crop(0, width)

    def put(self, line: int) -> None:
        """Move the cursor to a line, and scroll to it."""
        if not self.count:
            return
        self.cursor = max(0, min(line, self.count - 1))
        top, height = self.scroll_offset.y, max(self.size.height, 1)
        if not top <= self.cursor < top + height:
            target = self.cursor if self.cursor < top else self.cursor - height + 1
            self.scroll_to(y=target, animate=False, force=True)
        self.refresh()
        self.post_message(self.Moved(self))

    def action_move(self, by: int) -> None:
        """Move the cursor by lines."""
        self.put(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self.put(self.cursor + by * max(self.size.height - 1, 1))

    def action_to(self, line: int) -> None:
        """Move the cursor to a line; -1 is the last."""
        self.put(self.count - 1 if line < 0 else line)

    def on_click(self, event: Any) -> None:
        """Move the cursor to the mouse."""
        self.focus()
        self.put(self.scroll_offset.y + event.y)


class FrameList(LinePane):
    """The list of frames, one line each.

    Args:
        line: returns the line of a frame, given its number and the width.
    """

    def __init__(self, line: Callable[[int, int], str], **options: Any) -> None:
        super().__init__(**options)
        self._line = line
        self.numbers: Sequence[int] = ()

    def show(self, numbers: Sequence[int]) -> None:
        """Show these frames."""
        self.numbers = numbers
        self.grow(len(numbers))

    @property
    def number(self) -> int | None:
        """The number of the frame under the cursor; None if there is none."""
        return self.numbers[self.cursor] if self.cursor < len(self.numbers) else None

    def text(self, line: int) -> list[tuple[str, RichStyle]]:
        """Return the line of a frame."""
        return [(self._line(self.numbers[line], self.width), PLAIN)]


class FieldList(LinePane):
    """The fields of a frame: one line per span, indented by depth, then the records by schema."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.spans: list[Span] = []
        self._meaning = EnumNames(None)
        self._notes: list[str] = []
        self._records: list[str] = []

    def show(self, result: Result) -> None:
        """Show the fields of a result; if it has no fields, show its error."""
        self.spans = list(joined(result.spans)) if hasattr(result, "spans") else []
        self._meaning = EnumNames(result.codec)
        error = getattr(result, "error", None)
        self._notes = [f"! {error}"] if error is not None else []
        self._records = []
        self.cursor = 0
        self.scroll_to(y=0, animate=False, force=True)
        self.grow(len(self._notes) + len(self.spans))

    def show_records(self, lines: list[str]) -> None:
        """Show the records of the frame below its fields."""
        self._records = lines
        self.grow(len(self._notes) + len(self.spans) + len(lines))

    @property
    def span(self) -> Span | None:
        """The span under the cursor."""
        at = self.cursor - len(self._notes)
        return self.spans[at] if 0 <= at < len(self.spans) else None

    def select(self, offset: int) -> None:
        """Move the cursor to the field that contains a byte."""
        for at, span in enumerate(self.spans):
            if span.start <= offset < span.stop:
                self.put(at + len(self._notes))
                return

    def text(self, line: int) -> list[tuple[str, RichStyle]]:
        """Return the line of a field."""
        if line < len(self._notes):
            return [(fitted(self._notes[line], self.width), RichStyle(color="red"))]
        at = line - len(self._notes)
        if at >= len(self.spans):
            return [(self._records[at - len(self.spans)], PLAIN)]
        span = self.spans[at]
        segments = SEGMENT.findall(span.path) or [span.type]
        names = [part for part in segments if not part.startswith("[")]
        index = "".join(part for part in segments[-2:] if part.startswith("["))
        indent = "  " * (len(names) - 1)
        name = f"{indent}{names[-1] if names else ''}{index}"
        room = max(self.width - len(name) - 3, 12)
        value = with_name(span_text(span, room), self._meaning.name(span.path, span.value), room)
        fault = "  !" if span.faults else ""
        return [(escape(name), RichStyle(color="cyan")), (" = ", DIM), (escape(value) + fault, PLAIN)]


class ByteList(LinePane):
    """The bytes of a frame in rows; the bytes of the selected field are marked."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.data: bytes = b""
        self.marked: tuple[int, int] = (0, 0)
        self.column: int = 0

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "byte(-1)", "byte back", show=False),
        Binding("right,l", "byte(1)", "byte on", show=False),
    ]

    @property
    def row(self) -> int:
        """The number of bytes in a row."""
        return 16 if self.size.width >= 76 else 8

    @property
    def offset_at(self) -> int:
        """The offset of the byte under the cursor."""
        return min(self.cursor * self.row + self.column, max(len(self.data) - 1, 0))

    def show(self, data: bytes) -> None:
        """Show these bytes."""
        self.data, self.cursor, self.column, self.marked = data, 0, 0, (0, 0)
        self.scroll_to(y=0, animate=False, force=True)
        self.grow(-(-len(data) // self.row))

    def on_resize(self) -> None:
        """Recompute the rows for the new width."""
        self.grow(-(-len(self.data) // self.row))

    def mark(self, start: int, stop: int) -> None:
        """Mark the bytes of a field, and scroll to the first one."""
        self.marked = start, stop
        line = start // self.row
        if not self.scroll_offset.y <= line < self.scroll_offset.y + max(self.size.height, 1):
            self.scroll_to(y=line, animate=False, force=True)
        self.refresh()

    def action_byte(self, by: int) -> None:
        """Move the cursor by a number of bytes."""
        offset = max(0, min(self.offset_at + by, len(self.data) - 1))
        self.column = offset % self.row
        self.put(offset // self.row)

    def text(self, line: int) -> list[tuple[str, RichStyle]]:
        """Return a row: offset, hex digits, characters."""
        start, (low, high) = line * self.row, self.marked
        data = self.data[start : start + self.row]
        parts = [(f"{start:06x}  ", DIM)]
        for at, byte in enumerate(data, start):
            style = MARKED if low <= at < high else PLAIN
            is_here = self.has_focus and at == self.offset_at
            parts.append((f"{byte:02x}", style + RichStyle(color="yellow") if is_here else style))
            parts.append(("  " if at % 8 == 7 else " ", PLAIN))
        absent = range(start + len(data), start + self.row)
        parts.append(("".join("    " if at % 8 == 7 else "   " for at in absent), PLAIN))
        parts.append(("".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data), DIM))
        return parts
