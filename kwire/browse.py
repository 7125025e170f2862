"""`kwire browse`: frames in the terminal, with the fields and the bytes of the selected one.

`FrameIndex` stores headers and the position of the bytes, so that a million frames fit into memory. `Browser`, the
application, loads it in the background and draws only the visible lines.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from math import isnan, nan
from tempfile import TemporaryFile
from threading import Lock
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

from .codecs import Span
from .display_filter import DisplayFilter, parse_filter
from .errors import DecodeError, KwireError
from .protocol import Frame, FrameDecoder, Result, Source
from .protocol.framing import NOBODY, SECOND, CapturedBatch, CapturedFrame
from .protocol.headers import Header
from .protocol.results import MessageSummary
from .redact.masking import mask
from .render.annotate import SEGMENT, joined, span_text
from .render.line import fitted, frame_line, link_of
from .render.style import Style, escape
from .render.value_text import Meaning, count_text, with_name
from .spec.catalog import Catalog

NOTHING = 0xFFFFFFFF  # no partner; every dump has fewer frames
OTHER = -1  # the api key of a frame whose header was not recognised
MOST_IN_FLIGHT = 1 << 16  # requests in flight of all connections together
Ends = tuple[str | None, str | None, int | None]


class FrameIndex:
    """The frames of a dump.

    One thread adds frames, and another may read them. Use the index in a `with` block, whose end removes the stored
    bytes.

    Args:
        catalog: the specs.
        sealed: whether to mask secrets in results.
    """

    def __init__(self, catalog: Catalog, *, sealed: bool = True) -> None:
        self.catalog: Catalog = catalog
        self.sealed: bool = sealed
        self._decoder = FrameDecoder(catalog)
        self._bytes = TemporaryFile()  # noqa: SIM115 (closed with the index)
        self._end, self._lock = 0, Lock()
        self._offsets, self._sizes = array("Q"), array("I")
        self._times, self._latencies = array("d"), array("d")
        self._apis, self._directions = array("h"), array("b")  # -1 where unknown; 1 request, 0 response
        self._partners, self._ends, self._places = array("I"), array("I"), array("q")
        self._known_ends: dict[Ends, int] = {}
        self._all_ends: list[Ends] = []
        self._faults: dict[int, DecodeError] = {}
        self._more: dict[int, tuple[Any, ...]] = {}  # frames whose container declares their message
        self._waiting: dict[int, tuple[Header, int]] = {}
        self._ends_of: dict[int, int] = {}  # connection of the dump -> its index in `_all_ends`
        self.result: Callable[[int], Result] = lru_cache(maxsize=512)(self._result)

    def __enter__(self) -> FrameIndex:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the stored bytes."""
        with self._lock:
            self._bytes.close()

    def __len__(self) -> int:
        """The number of frames read so far."""
        return len(self._partners)

    def add(self, frame: Frame) -> None:
        """Add the next frame of the dump."""
        _, header = self._decoder.connections.receive(frame)
        number, source = len(self), frame.source
        with self._lock:
            self._bytes.seek(self._end)
            self._bytes.write(frame.data)
        self._offsets.append(self._end)
        self._sizes.append(len(frame.data))
        self._end += len(frame.data)
        self._times.append(nan if source.time is None else source.time)
        self._places.append(-1 if source.offset is None else source.offset)
        self._ends.append(self._end_of((source.client, source.broker, source.connection)))
        if frame.fault is not None:
            self._faults[number] = frame.fault
        if frame.message is not None or frame.bare or frame.profile:
            self._more[number] = frame.message, frame.version, frame.bare, frame.profile
        self._pair(header, number, source.time)

    def begin(self) -> None:
        """Start another dump, whose connections are numbered separately."""
        self._decoder = FrameDecoder(self.catalog)
        self._waiting.clear()
        self._ends_of.clear()

    def add_batch(self, batch: CapturedBatch) -> None:
        """Add a batch of captured frames: like `add`, but fast enough for a million frames."""
        data = b"".join([one[4] for one in batch if type(one) is tuple])
        with self._lock:
            self._bytes.seek(self._end)
            self._bytes.write(data)
        for captured in batch:
            if type(captured) is tuple:
                self._add_captured(captured)
            else:
                self._decoder.connections.forget(captured)
                self._ends_of.pop(captured, None)

    def _add_captured(self, captured: CapturedFrame) -> None:
        ends, asked, offset, now, data, fault, _, _ = captured
        header = self._decoder.connections.of(ends).pair(captured)
        number, size, of_file = len(self._partners), len(data), ends is NOBODY
        latency = partner = None
        if asked:
            header.number(number)
        elif now is not None:
            latency, partner = link_of(header, now)
        self._offsets.append(self._end)
        self._sizes.append(size)
        self._end += size
        self._times.append(nan if now is None else now / SECOND)
        self._places.append(-1 if of_file and not data else offset)
        end = self._ends_of.get(ends.connection)
        if end is None:
            known = (None, None, None) if of_file else (ends.client, ends.broker, ends.connection)
            end = self._ends_of[ends.connection] = self._end_of(known)
        self._ends.append(end)
        if fault is not None:
            self._faults[number] = fault
        self._latencies.append(nan if latency is None else latency)
        self._apis.append(OTHER if header.problem or header.call is None else header.call.api.key or 0)
        self._directions.append(-1 if of_file else asked)
        if partner is not None:
            self._partners[partner] = number
        self._partners.append(NOTHING if partner is None else partner)  # the last column: now the frame counts

    def _end_of(self, ends: Ends) -> int:
        number = self._known_ends.get(ends)
        if number is None:
            number = self._known_ends[ends] = len(self._all_ends)
            self._all_ends.append(ends)
        return number

    def _pair(self, header: Header, number: int, time: float | None) -> None:
        """Record the partner of a request or response."""
        key = None if header.problem or header.call is None else header.call.api.key
        request = None if header.request is None else self._waiting.pop(id(header.request), None)
        partner = NOTHING if request is None else request[1]
        if partner != NOTHING:
            self._partners[partner] = number
        asked_at = nan if partner == NOTHING else self._times[partner]
        self._latencies.append(nan if time is None else time - asked_at)
        self._apis.append(OTHER if key is None else key)
        self._directions.append(-1 if header.is_request is None else int(header.is_request))
        if header.is_request:
            self._waiting[id(header)] = header, number
            if len(self._waiting) > MOST_IN_FLIGHT:
                del self._waiting[next(iter(self._waiting))]
        self._partners.append(partner)  # the last column: now the frame counts

    def frame(self, number: int) -> Frame:
        """Return a frame of the dump by its number."""
        with self._lock:
            self._bytes.seek(self._offsets[number])
            data = self._bytes.read(self._sizes[number])
        client, broker, connection = self._all_ends[self._ends[number]]
        time, place = self._times[number], self._places[number]
        known = None if client is None else {1: "request", 0: "response"}.get(self._directions[number])
        source = Source(
            frame=number,
            offset=None if place < 0 else place,
            time=None if isnan(time) else time,
            client=client,
            broker=broker,
            connection=connection,
            direction=known,
        )
        message, version, bare, profile = self._more.get(number, (None, None, False, None))
        return Frame(data, source, message, version, bare, profile, self._faults.get(number))

    def _result(self, number: int) -> Result:
        """Decode a frame with its spans, a response after its request; secrets are masked if the index is sealed."""
        decoder = FrameDecoder(self.catalog, trace=True)
        partner = self.partner(number)
        if partner is not None and partner < number:
            decoder.decode(self.frame(partner))
        result = decoder.decode(self.frame(number))
        return mask(result) if self.sealed else result

    def partner(self, number: int) -> int | None:
        """Return the number of the response to a request, or of the request of a response; None if it has none."""
        partner = self._partners[number]
        return None if partner == NOTHING else partner

    def latency(self, number: int) -> float | None:
        """Return the seconds between a request and its response, given either; None if unknown."""
        partner = self.partner(number)
        return self._latency_at(number if partner is None else max(number, partner))

    def connection(self, number: int) -> int:
        """Return the key of a frame's connection."""
        return self._ends[number]

    def by_latency(self, numbers: Sequence[int]) -> Sequence[int]:
        """Return frames sorted by latency, the slowest response first; frames without a latency come last."""
        return array("I", sorted(numbers, key=lambda number: -(self._latency_at(number) or -1.0)))

    def _latency_at(self, number: int) -> float | None:
        return None if isnan(self._latencies[number]) else self._latencies[number]

    def may_hold(self, number: int, wanted: Callable[[int, bool], bool]) -> bool:
        """Return whether a filter on api key and direction accepts a frame; unrecognised frames are always accepted."""
        key, direction = self._apis[number], self._directions[number]
        return key == OTHER or direction < 0 or wanted(key, bool(direction))

    def numbers(self, start: int) -> Iterator[int]:
        """Yield the numbers of all frames read so far, beginning with `start`."""
        yield from range(start, len(self))


PLAIN, DIM, CURSOR, MARKED = (
    RichStyle(),
    RichStyle(dim=True),
    RichStyle(reverse=True),
    RichStyle(bold=True, underline=True),
)
BETWEEN = 0.2  # seconds between two updates of the screen
SOME = 2_000  # frames searched between two updates


class Lines(ScrollView, can_focus=True):
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
        """Set the number of lines."""
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


class FrameList(Lines):
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
        return [(self._line(self.numbers[line], self.size.width), PLAIN)]


class FieldList(Lines):
    """The fields of a frame: one line per span, indented by depth."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.spans: list[Span] = []
        self._meaning = Meaning(None)
        self._notes: list[str] = []

    def show(self, result: Result) -> None:
        """Show the fields of a result; if it has no fields, show its error."""
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
        """Move the cursor to the field that contains a byte."""
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
        parts.append(("   " * (self.row - len(data)), PLAIN))
        parts.append(("".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data), DIM))
        return parts


class Browser(App[None]):
    """Shows the frames of a dump.

    Args:
        loading: reads the dump into the index, in the background, a step at a time.
        index: the frames.
        title: the name of the dump.
        export: writes frames to a file, given its name, and returns their number; raises KwireError, OSError.
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
        self._seen = 0  # frames to which the filter was applied

    def compose(self) -> ComposeResult:
        """Create the panes."""
        yield FrameList(self._line, id="frames")
        with Horizontal(id="below"):
            yield FieldList(id="fields")
            yield ByteList(id="bytes")
        yield Static(id="state", markup=False)
        yield Input(id="ask")
        yield Footer()

    def on_mount(self) -> None:
        """Start loading the index."""
        self.query_one(FrameList).focus()
        self.load()

    @work(thread=True, exclusive=True, group="load")
    def load(self) -> None:
        """Read all frames into the index; show errors of the dump."""
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
        """Show the frames added since the last update; the filter continues in the background."""
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
        """Apply a filter to the frames to which it was not applied yet."""
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
        """Recompute which frames are shown."""
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
        """Update the other panes."""
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
        """Prompt for a filter, or for a file to write to."""
        ask = self.query_one("#ask", Input)
        self._asked = what
        ask.placeholder = "display filter: error_code and latency > 20ms" if what == "filter" else "write to: part.pcap"
        ask.value = self._filter.text if what == "filter" and self._filter else ""
        ask.styles.display = "block"
        ask.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Handle the input of the prompt."""
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
        """Close the prompt; without one, show all frames."""
        if self.query_one("#ask", Input).styles.display == "block":
            self._close()
            return
        self._filter = self._connection = None
        self._problem = ""
        self._again()

    def action_connection(self) -> None:
        """Show only the connection of the frame under the cursor; or show all connections again."""
        number = self.query_one(FrameList).number
        self._connection = None if self._connection is not None or number is None else self.index.connection(number)
        self._again()

    def action_partner(self) -> None:
        """Select the response of a request, or the request of a response."""
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
        """Sort frames by latency, the slowest first; or show them in the order of the dump."""
        self._slowest_first = not self._slowest_first
        self.query_one(FrameList).cursor = 0
        self._show()
        self.query_one(FrameList).put(0)
