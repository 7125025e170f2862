"""A screen of `kwire browse` with a list over the whole width, made in the background; Enter chooses a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, ClassVar, TypeVar

from rich.style import Style as RichStyle
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static
from textual.worker import get_current_worker

from ...errors import KwireError
from ...render.frame_line import fitted
from ...render.value_text import count_text
from .panes import PLAIN, LinePane

Choice = TypeVar("Choice")


class TextList(LinePane):
    """Lines of text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.lines: Sequence[str] = ()

    def show(self, lines: Sequence[str]) -> None:
        """Show these lines."""
        self.lines = lines
        self.grow(len(lines))

    def text(self, line: int) -> list[tuple[str, RichStyle]]:
        """Return a line, as far as it fits."""
        return [(fitted(self.lines[line], self.width), PLAIN)]


class ListScreen(ModalScreen[Choice]):
    """Shows lines. Enter closes it with what the line under the cursor stands for, Escape with None.

    Args:
        title: what the lines are, and what Enter does.
    """

    CSS = """
    ListScreen { background: $surface; }
    #list { height: 1fr; overflow-x: hidden; }
    #title, #head { height: 1; background: $panel; text-wrap: nowrap; }
    #head { display: none; }
    #whole { height: auto; max-height: 5; background: $panel; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "close", "Close"),
        Binding("enter", "choose", "Choose"),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def make(self) -> tuple[str, Sequence[str]]:
        """Return the line above the others, which may be empty, and the lines, in another thread."""
        raise NotImplementedError

    def until_closed(self, numbers: Iterable[int]) -> Iterator[int]:
        """Yield numbers, for `make`, until the screen is closed and nobody waits for the lines any more."""
        worker = get_current_worker()
        return takewhile(lambda _: not worker.is_cancelled, numbers)

    def choice(self, line: int) -> Choice | None:
        """Return what a line stands for; None if for nothing."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Create the title and the list."""
        yield Static(f"{self._title}: reading", id="title", markup=False)
        yield Static("", id="head", markup=False)
        yield TextList(id="list")
        yield Static("", id="whole", markup=False)

    def on_mount(self) -> None:
        """Start making the lines."""
        self.query_one(TextList).focus()
        self.make_lines()

    @work(thread=True, exclusive=True, group="list")
    def make_lines(self) -> None:
        """Make the lines, and show them, or why there are none."""
        worker = get_current_worker()
        try:
            head, lines = self.make()
        except (KwireError, OSError) as error:
            head, lines = str(error), ()
        if not worker.is_cancelled:
            self.app.call_from_thread(self._show, head, lines)

    def _show(self, head: str, lines: Sequence[str]) -> None:
        self.query_one("#title", Static).update(f"{self._title}    {count_text(len(lines), 'line')}")
        if head:
            self.query_one("#head", Static).update(head)
            self.query_one("#head", Static).styles.display = "block"
        self.query_one(TextList).show(lines)
        self.query_one(TextList).put(0)

    def on_line_pane_moved(self, event: LinePane.Moved) -> None:
        """Show the whole of the line under the cursor, which may be too long for the list."""
        shown = self.query_one(TextList)
        self.query_one("#whole", Static).update(" ".join(shown.lines[shown.cursor].split()))

    def action_close(self) -> None:
        """Close without a choice."""
        self.dismiss(None)

    def action_choose(self) -> None:
        """Close with what the line under the cursor stands for."""
        shown = self.query_one(TextList)
        self.dismiss(self.choice(shown.cursor) if shown.count else None)
