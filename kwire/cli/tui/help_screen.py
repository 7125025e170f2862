"""The help of `kwire browse`: all keys."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

KEYS = """\
Tab           next pane; Shift+Tab the one before
Up Down k j   a line; PageUp, PageDown, Home g, End G
Left Right    in the bytes: a byte
/             filter, as --where; Right completes; Up, Down: earlier filters
Escape        all frames again
f             find text in lines; n and N: next, previous
:             go to a frame (120) or time (06:27:38)
m  '          mark a frame; go to the next mark
r             the response of a request, or its request
c             only this connection
t             what happened: leaders, rebalances, errors; Enter: its frame
a             counts by api and client; Enter: only these
s             slowest first, or the order of the dump
w             write the shown frames, with their partners
q             quit"""


class HelpScreen(ModalScreen[None]):
    """Shows the keys until a key is pressed."""

    CSS = """
    HelpScreen { align: center middle; }
    #help { width: 72; height: auto; max-height: 100%; border: round $primary; background: $panel; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,enter", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """Create the box."""
        yield Static(KEYS, id="help", markup=False)
