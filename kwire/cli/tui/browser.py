"""The application of `kwire browse`: three panes that move together, a filter, keys. It needs textual.

It fills the `FrameIndex` in the background.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.events import Key
from textual.widgets import Footer, Input, Static
from textual.worker import get_current_worker

from ...errors import KwireError
from ...protocol import Frame, Result
from ...protocol.message_summary import MessageSummary
from ...query.available_paths import check_available
from ...query.display_filter import DisplayFilter, parse_filter
from ...render.colours import Style
from ...render.frame_line import frame_line
from ...render.nested_fields import frame_record_lines
from ...render.value_text import count_text
from ..filters.time_span import TimeSpan
from .counts_screen import CountsScreen
from .filter_suggester import FilterSuggester
from .frame_index import FrameIndex
from .help_screen import HelpScreen
from .panes import ByteList, FieldList, FrameList, LinePane
from .timeline_screen import TimelineScreen

if TYPE_CHECKING:
    from ...serdes import RecordDeserializer

PLACEHOLDERS = {
    "filter": "display filter: error_code and latency > 20ms     Enter, Esc, Right completes",
    "write": "write to: part.pcap     Enter, Esc",
    "find": "find in lines: orders     Enter, Esc; then n, N",
    "go to": "frame or time: 120, 06:27:38     Enter, Esc",
}
WIDE = 1_000  # columns of the lines that are searched
BETWEEN = 0.2  # seconds between two updates of the screen
SOME = 2_000  # frames searched between two updates


class Browser(App[None]):
    """Shows the frames of a dump.

    Args:
        loading: reads the dump into the index, in the background, a step at a time.
        index: the frames.
        title: the name of the dump.
        export: writes frames to a file, given its name, and returns their number; raises KwireError, OSError.
        stop: ends the reading of a dump that grows, or of a pipe.
        values: decodes keys and values by schema, which stand below the fields; None shows none.
    """

    CSS = """
    FrameList, FieldList, ByteList { overflow-x: hidden; }
    FrameList { height: 1fr; border-bottom: solid $primary; }
    #below { height: 1fr; }
    FieldList { width: 1fr; border-right: solid $primary; }
    ByteList { width: 1fr; min-width: 36; }
    Input { dock: bottom; display: none; height: 3; }
    #state { height: 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),
        Binding("slash", "ask('filter')", "Filter", key_display="/"),
        Binding("c", "connection", "Connection"),
        Binding("r", "partner", "Request/response"),
        Binding("s", "sort", "Slowest"),
        Binding("w", "ask('write')", "Write"),
        Binding("f", "ask('find')", "Find"),
        Binding("t", "timeline", "Timeline"),
        Binding("a", "counts", "Counts"),
        Binding("n", "find(1)", "Next match", show=False),
        Binding("N", "find(-1)", "Previous match", show=False),
        Binding("colon", "ask('go to')", "Go to", show=False),
        Binding("m", "mark", "Mark", show=False),
        Binding("apostrophe", "next_mark", "Next mark", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("escape", "clear", "All", show=False),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self,
        loading: Iterator[object],
        index: FrameIndex,
        title: str,
        export: Callable[[Iterator[Frame], str], int],
        stop: Callable[[], None] = lambda: None,
        values: RecordDeserializer | None = None,
    ) -> None:
        super().__init__()
        self.title = title
        self.index: FrameIndex = index
        self._loading, self._export, self._stop = loading, export, stop
        self._values, self._reading_values = values, Lock()
        self._filter: DisplayFilter | None = None
        self._connection: int | None = None
        self._slowest_first = self._loaded = False
        self._asked = "filter"
        self._answers: dict[str, list[str]] = {}  # earlier texts of each prompt, the newest last
        self._recalled = 0  # how far back the prompt has gone in them
        self._found = ""  # the text that was searched for
        self._marks: set[int] = set()
        self._problem = ""
        self._summary = MessageSummary()
        self._suggester = FilterSuggester(index.catalog)
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
        yield Input(id="ask", select_on_focus=False)
        yield Footer()

    def on_mount(self) -> None:
        """Start loading the index."""
        self.query_one(FrameList).focus()
        self.load()

    def on_unmount(self) -> None:
        """End the reading of a file that grows, or a pipe, for which the application waits."""
        self._stop()

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
        parts += ["slowest first (s: order of the dump)"] if self._slowest_first else []
        parts += ["one connection (c: all)"] if self._connection is not None else []
        self.query_one("#state", Static).update(self._problem or "  ".join(parts))

    def _line(self, number: int, width: int) -> str:
        latency = self.index.latency(number)
        text = frame_line(self.index.result(number), self._summary, Style(width=max(width - 13, 20)))
        mark = "*" if number in self._marks else " "
        return f"{'' if latency is None else f'{latency * 1000:8.2f} ms':>11}{mark} {text}"[:width]

    def on_line_pane_moved(self, event: LinePane.Moved) -> None:
        """Update the other panes."""
        fields, data = self.query_one(FieldList), self.query_one(ByteList)
        if isinstance(event.pane, FrameList):
            number = event.pane.number
            if number is not None:
                self._current = number
                result = self.index.result(number)
                fields.show(result)
                data.show(result.frame.data)
                if self._values is not None:
                    self.read_records(number, result, self._values)
        elif isinstance(event.pane, ByteList):
            fields.select(data.offset_at)
        elif (span := fields.span) is not None:
            data.mark(span.start, span.stop)

    @work(thread=True, exclusive=True, group="records")
    def read_records(self, number: int, result: Result, values: RecordDeserializer) -> None:
        """Show the records of a frame by schema, in the background: a registry may answer late."""
        worker = get_current_worker()
        with self._reading_values:
            if worker.is_cancelled:
                return
            lines = list(frame_record_lines(result, Style(width=WIDE), values, self._summary))
        if lines and not worker.is_cancelled:
            self.call_from_thread(self._show_records, number, lines)

    def _show_records(self, number: int, lines: list[str]) -> None:
        if number == self._current:
            self.query_one(FieldList).show_records(lines)

    def action_ask(self, what: str) -> None:
        """Prompt for a filter, a file to write to, a text to find, or a frame or time to go to."""
        ask = self.query_one("#ask", Input)
        self._asked, self._recalled = what, 0
        ask.placeholder = PLACEHOLDERS[what]
        ask.suggester = self._suggester if what == "filter" else None
        ask.value = self._filter.text if what == "filter" and self._filter else ""
        ask.styles.display = "block"
        ask.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Handle the input of the prompt."""
        self._close()
        text = event.value.strip()
        if text:
            self._answers.setdefault(self._asked, []).append(text)
        if self._asked == "find":
            self._found = text
            self.action_find(1)
            return
        if self._asked == "go to":
            self._report_errors(self._go_to, text)
        elif self._asked == "write":
            self._report_errors(self._write_frames, text)
        else:
            self._report_errors(self._set_filter, text)

    def _report_errors(self, act: Callable[[str], None], text: str) -> None:
        """Do something with a text; if that fails, show why."""
        self._problem = ""
        try:
            act(text)
        except (KwireError, OSError) as error:
            self._problem = str(error)
        self._state()

    def _set_filter(self, text: str) -> None:
        self._filter = self._parse(text) if text else None
        self._again()

    def _parse(self, text: str) -> DisplayFilter:
        wanted = parse_filter(text, self.index.catalog)
        check_available(wanted.expression.paths, self.index.catalog, of_records=False)
        return wanted

    def on_key(self, event: Key) -> None:
        """Recall earlier texts in the prompt."""
        ask = self.query_one("#ask", Input)
        earlier = self._answers.get(self._asked, [])
        if not ask.has_focus or event.key not in ("up", "down") or not earlier:
            return
        self._recalled = max(0, min(self._recalled + (1 if event.key == "up" else -1), len(earlier)))
        ask.value = earlier[-self._recalled] if self._recalled else ""
        ask.cursor_position = len(ask.value)

    def action_find(self, step: int) -> None:
        """Select the next or previous line that has the text."""
        pane = self.query_one(FrameList)
        wanted = self._found.casefold()
        count = len(pane.numbers)
        if not wanted or not count:
            return
        for distance in range(1, count + 1):
            line = (pane.cursor + step * distance) % count
            if wanted in self._line(pane.numbers[line], WIDE).casefold():
                self._select(line)
                return
        self._problem = f"no line has {self._found!r}"
        self._state()

    def _go_to(self, text: str) -> None:
        """Select the first shown frame from a number, or a time, on."""
        span = TimeSpan(text or None, None)
        pane = self.query_one(FrameList)
        for line, number in enumerate(sorted(pane.numbers)):
            time = None if text.isdecimal() else self.index.frame(number).source.time
            if span.covers(time, number):
                self._select(list(pane.numbers).index(number) if self._slowest_first else line)
                return
        self._problem = f"no shown frame is at {text} or later"
        self._state()

    def _select(self, line: int) -> None:
        self._problem = ""
        self.query_one(FrameList).put(line)
        self._state()

    def action_mark(self) -> None:
        """Mark the frame under the cursor, or take its mark away."""
        pane = self.query_one(FrameList)
        if pane.number is not None:
            self._marks ^= {pane.number}
            pane.refresh()

    def action_next_mark(self) -> None:
        """Select the next marked frame."""
        pane = self.query_one(FrameList)
        lines = [line for line, number in enumerate(pane.numbers) if number in self._marks]
        if lines:
            self._select(next((line for line in lines if line > pane.cursor), lines[0]))

    def action_help(self) -> None:
        """Show all keys."""
        self.push_screen(HelpScreen())

    def _write_frames(self, file: str) -> None:
        if not file:
            return
        count = self._export((self.index.frame(number) for number in sorted(self._with_partners())), file)
        written = f"{count_text(count, 'frame')} written to {file}"
        self._problem = f"{written}, with requests and responses of those that are shown"

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
        number = self.query_one(FrameList).number
        partner = None if number is None else self.index.partner(number)
        if partner is None:
            self._problem = "not captured"
            self._state()
        else:
            self._select_frame(partner)

    def _select_frame(self, number: int) -> None:
        """Select a frame, if it is shown."""
        numbers = list(self.query_one(FrameList).numbers)
        if number in numbers:
            self._select(numbers.index(number))
            return
        self._problem = f"frame {number} is filtered out (Escape shows all frames)"
        self._state()

    def action_timeline(self) -> None:
        """List what happened in all frames read so far; Enter goes to the frame that shows an event."""

        def choose(number: int | None) -> None:
            if number is not None:
                self._select_frame(number)

        self.push_screen(TimelineScreen(self.index), choose)

    def action_counts(self) -> None:
        """Count the shown frames, with their partners, by api and client; Enter filters."""

        def choose(text: str | None) -> None:
            if text is not None:
                self._report_errors(self._set_filter, text)

        self.push_screen(CountsScreen(self.index, sorted(self._with_partners())), choose)

    def action_sort(self) -> None:
        """Sort frames by latency, the slowest first; or show them in the order of the dump."""
        self._slowest_first = not self._slowest_first
        self.query_one(FrameList).cursor = 0
        self._show()
        self.query_one(FrameList).put(0)
