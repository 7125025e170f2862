"""The application `kwire browse`: loads an index in the background; its panes are a list of frames, fields, bytes.

Only visible lines are drawn.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Footer, Input, Static
from textual.worker import get_current_worker

from ..codecs.tracing import Span
from ..display_filter import DisplayFilter, parse_filter
from ..errors import KwireError
from ..protocol import Frame, Result
from ..protocol.summary import MessageSummary
from ..render.annotate import SEGMENT, joined, span_text
from ..render.line import fitted, frame_line
from ..render.style import Style, escape
from ..render.values import Meaning, count_text, with_name
from .frame_index import FrameIndex

PLAIN, DIM, CURSOR, MARKED = (
    RichStyle(),
    RichStyle(dim=True),
    RichStyle(reverse=True),
    RichStyle(bold=True, underline=True),
)
BETWEEN = 0.2  # seconds between two looks at the screen
SOME = 2_000  # frames of a search between them


class Lines(ScrollView, can_focus=True):
    """A column of lines with a cursor; lines are made when they are drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown,space", "page(1)", "page down", show=False),
        Binding("home,g", "to(0)", "first", show=False),
        Binding("end,G", "to(-1)", "last", show=False),
    ]

    class Moved(Message):
        """The cursor is on another line."""

        def __init__(self, pane: Lines) -> None:
            super().__init__()
            self.pane: Lines = pane

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.cursor: int = 0
        self.count: int = 0

    def text(self, line: int) -> list[tuple[str, RichStyle]]:
        """Return the parts of a line, with their styles."""
        raise NotImplementedError

    def grow(self, count: int) -> None:
        """Set how many lines there are."""
        self.count = count
        self.cursor = max(0, min(self.cursor, count - 1))
        self.virtual_size = Size(self.size.width, count)
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
        """Put the cursor on a line, and show it."""
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
        """Put the cursor where the mouse is."""
        self.focus()
        self.put(self.scroll_offset.y + event.y)


class FrameList(Lines):
    """The frames, a line each.

    Args:
        line: writes the line of a frame by its number, at a given width.
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
        return [(self._line(self.numbers[line], self.size.width), PLAIN)]


class FieldList(Lines):
    """The fields of a frame: a line a span, indented by depth."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.spans: list[Span] = []
        self._meaning = Meaning(None)
        self._notes: list[str] = []

    def show(self, result: Result) -> None:
        """Show the fields of a result; if it has none, what is wrong with it."""
        self.spans = list(joined(result.spans)) if hasattr(result, "spans") else []
        self._meaning = Meaning(result.codec)
        error = getattr(result, "error", None)
        self._notes = [f"! {error}"] if error is not None else []
        self.cursor = 0
        self.scroll_to(y=0, animate=False, force=True)
        self.grow(len(self._notes) + len(self.spans))

    @property
    def span(self) -> Span | None:
        """The span under the cursor."""
        at = self.cursor - len(self._notes)
        return self.spans[at] if 0 <= at < len(self.spans) else None

    def select(self, offset: int) -> None:
        """Put the cursor on the field that a byte belongs to."""
        for at, span in enumerate(self.spans):
            if span.start <= offset < span.stop:
                self.put(at + len(self._notes))
                return

    def text(self, line: int) -> list[tuple[str, RichStyle]]:
        """Return the line of a field."""
        if line < len(self._notes):
            return [(fitted(self._notes[line], max(self.size.width, 20)), RichStyle(color="red"))]
        span = self.spans[line - len(self._notes)]
        segments = SEGMENT.findall(span.path) or [span.type]
        names = [part for part in segments if not part.startswith("[")]
        index = "".join(part for part in segments[-2:] if part.startswith("["))
        indent = "  " * (len(names) - 1)
        name = f"{indent}{names[-1] if names else ''}{index}"
        room = max(self.size.width - len(name) - 3, 12)
        value = with_name(span_text(span, room), self._meaning.name(span.path, span.value), room)
        fault = "  !" if span.faults else ""
        return [(escape(name), RichStyle(color="cyan")), (" = ", DIM), (escape(value) + fault, PLAIN)]


class ByteList(Lines):
    """The bytes of a frame, some a row; those of one field are marked."""

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
        """How many bytes a row has."""
        return 16 if self.size.width >= 76 else 8

    @property
    def offset_at(self) -> int:
        """The byte under the cursor."""
        return min(self.cursor * self.row + self.column, max(len(self.data) - 1, 0))

    def show(self, data: bytes) -> None:
        """Show these bytes."""
        self.data, self.cursor, self.column, self.marked = data, 0, 0, (0, 0)
        self.scroll_to(y=0, animate=False, force=True)
        self.grow(-(-len(data) // self.row))

    def on_resize(self) -> None:
        """Break the rows anew."""
        self.grow(-(-len(self.data) // self.row))

    def mark(self, start: int, stop: int) -> None:
        """Mark the bytes of a field, and show the first of them."""
        self.marked = start, stop
        line = start // self.row
        if not self.scroll_offset.y <= line < self.scroll_offset.y + max(self.size.height, 1):
            self.scroll_to(y=line, animate=False, force=True)
        self.refresh()

    def action_byte(self, by: int) -> None:
        """Move the cursor by bytes."""
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
        parts.append(("   " * (self.row - len(data)), PLAIN))
        parts.append(("".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data), DIM))
        return parts


class Browser(App[None]):
    """Shows the frames of a dump.

    Args:
        loading: reads the dump into the index, in the background, a step at a time.
        index: the frames.
        title: names the dump.
        export: writes frames to a file that is named, and returns how many; raises KwireError, OSError.
    """

    CSS = """
    FrameList, FieldList, ByteList { overflow-x: hidden; }
    FrameList { height: 1fr; border-bottom: solid $primary; }
    #below { height: 1fr; }
    FieldList { width: 1fr; border-right: solid $primary; }
    ByteList { width: 1fr; min-width: 36; }
    Input { dock: bottom; display: none; height: 3; }
    #state { height: 1; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("slash", "ask('filter')", "Filter", key_display="/"),
        Binding("c", "connection", "Connection"),
        Binding("r", "partner", "Request/response"),
        Binding("s", "sort", "Slowest"),
        Binding("w", "ask('write')", "Write"),
        Binding("escape", "clear", "All", show=False),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        loading: Iterator[object],
        index: FrameIndex,
        title: str,
        export: Callable[[Iterator[Frame], str], int],
    ) -> None:
        super().__init__()
        self.title = title
        self.index: FrameIndex = index
        self._loading, self._export = loading, export
        self._filter: DisplayFilter | None = None
        self._connection: int | None = None
        self._slowest_first = self._loaded = False
        self._asked = "filter"
        self._problem = ""
        self._summary = MessageSummary()
        self._shown = array("I")
        self._current: int | None = None  # the frame whose fields are shown
        self._seen = 0  # frames that were asked whether they are shown

    def compose(self) -> ComposeResult:
        """Make the panes."""
        yield FrameList(self._line, id="frames")
        with Horizontal(id="below"):
            yield FieldList(id="fields")
            yield ByteList(id="bytes")
        yield Static(id="state", markup=False)
        yield Input(id="ask")
        yield Footer()

    def on_mount(self) -> None:
        """Begin to load."""
        self.query_one(FrameList).focus()
        self.load()

    @work(thread=True, exclusive=True, group="load")
    def load(self) -> None:
        """Read all frames into the index; what is wrong with the dump is shown."""
        worker, due = get_current_worker(), 0.0
        try:
            for _ in self._loading:
                if worker.is_cancelled:
                    return
                if monotonic() >= due:
                    self.call_from_thread(self.look)
                    due = monotonic() + BETWEEN
        except (KwireError, OSError) as error:
            self._problem = str(error)
        self._loaded = True
        self.call_from_thread(self.look)

    def look(self) -> None:
        """Show the frames that came since the last look; the filter goes on in the background."""
        if self._filter is None:
            self._extend(range(self._seen, len(self.index)))
            self._seen = len(self.index)
            self._show()
        else:
            self.search(self._filter)

    def _extend(self, numbers: range) -> None:
        wanted = self._connection
        self._shown.extend(n for n in numbers if wanted is None or self.index.connection(n) == wanted)

    @work(thread=True, exclusive=True, group="search")
    def search(self, wanted: DisplayFilter) -> None:
        """Ask a filter of the frames that were not asked yet."""
        worker, index = get_current_worker(), self.index
        may_hold = partial(wanted.may_hold, catalog=index.catalog)
        for number in index.numbers(self._seen):
            if worker.is_cancelled or wanted is not self._filter:
                return
            is_here = self._connection in (None, index.connection(number)) and index.may_hold(number, may_hold)
            if is_here and wanted(index.result(number)):
                self._shown.append(number)
            self._seen = number + 1
            if number % SOME == 0:
                self.call_from_thread(self._show)
        self.call_from_thread(self._show)

    def _again(self) -> None:
        """Choose the shown frames anew."""
        self._shown, self._seen = array("I"), 0
        self.query_one(FrameList).cursor = 0
        self.look()

    def _show(self) -> None:
        pane = self.query_one(FrameList)
        pane.show(self.index.by_latency(self._shown) if self._slowest_first else self._shown)
        if pane.number != self._current:
            pane.put(pane.cursor)
        self._state()

    def _state(self) -> None:
        count, shown = len(self.index), len(self._shown)
        loading = "" if self._loaded else ", reading"
        parts = [f"{self.title}: {count_text(count, 'frame')}{loading}"]
        parts += [f"{shown:,} shown"] if shown != count else []
        parts += [f"filter: {self._filter.text}"] if self._filter else []
        parts += ["one connection (c: all)"] if self._connection is not None else []
        self.query_one("#state", Static).update(self._problem or "  ".join(parts))

    def _line(self, number: int, width: int) -> str:
        latency = self.index.latency(number)
        text = frame_line(self.index.result(number), self._summary, Style(width=max(width - 13, 20)))
        return f"{'' if latency is None else f'{latency * 1000:8.2f} ms':>11}  {text}"[:width]

    def on_lines_moved(self, event: Lines.Moved) -> None:
        """Let the other panes follow."""
        fields, data = self.query_one(FieldList), self.query_one(ByteList)
        if isinstance(event.pane, FrameList):
            number = event.pane.number
            if number is not None:
                self._current = number
                result = self.index.result(number)
                fields.show(result)
                data.show(result.frame.data)
        elif isinstance(event.pane, ByteList):
            fields.select(data.offset_at)
        elif (span := fields.span) is not None:
            data.mark(span.start, span.stop)

    def action_ask(self, what: str) -> None:
        """Ask for a filter, or for a file to write to."""
        ask = self.query_one("#ask", Input)
        self._asked = what
        ask.placeholder = "display filter: error_code and latency > 20ms" if what == "filter" else "write to: part.pcap"
        ask.value = self._filter.text if what == "filter" and self._filter else ""
        ask.styles.display = "block"
        ask.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the answer."""
        self._close()
        text = event.value.strip()
        try:
            if self._asked == "write":
                self._problem = self._written(text) if text else ""
                self._state()
                return
            self._filter = parse_filter(text, self.index.catalog) if text else None
            self._problem = ""
        except (KwireError, OSError) as error:
            self._problem = str(error)
            self._state()
            return
        self._again()

    def _written(self, file: str) -> str:
        count = self._export((self.index.frame(number) for number in sorted(self._with_partners())), file)
        return f"{count_text(count, 'frame')} written to {file}, with requests and responses of those that are shown"

    def _with_partners(self) -> set[int]:
        partners = (self.index.partner(number) for number in self._shown)
        return {*self._shown, *(number for number in partners if number is not None)}

    def _close(self) -> None:
        self.query_one("#ask", Input).styles.display = "none"
        self.query_one(FrameList).focus()

    def action_clear(self) -> None:
        """Close the question; or show all frames."""
        if self.query_one("#ask", Input).styles.display == "block":
            self._close()
            return
        self._filter = self._connection = None
        self._problem = ""
        self._again()

    def action_connection(self) -> None:
        """Show only the connection of the frame under the cursor; or all again."""
        number = self.query_one(FrameList).number
        self._connection = None if self._connection is not None or number is None else self.index.connection(number)
        self._again()

    def action_partner(self) -> None:
        """Go to the response of a request, or to the request of a response."""
        pane = self.query_one(FrameList)
        partner = None if pane.number is None else self.index.partner(pane.number)
        if partner is None or partner not in pane.numbers:
            self._problem = "not captured" if partner is None else "filtered out (Escape shows all frames)"
            self._state()
            return
        self._problem = ""
        pane.put(list(pane.numbers).index(partner))
        self._state()

    def action_sort(self) -> None:
        """Show the slowest first, or in the order of the dump."""
        self._slowest_first = not self._slowest_first
        self.query_one(FrameList).cursor = 0
        self._show()
        self.query_one(FrameList).put(0)
