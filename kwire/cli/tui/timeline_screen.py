"""The screen of `kwire browse` with what happened: the events of `kwire timeline`, but for what packets show."""

from __future__ import annotations

from ...cluster.activity.activity_event import ActivityEvent
from ...protocol import FrameDecoder
from ...render.cluster.activity_text import activity_line, day_text
from ..timeline.read_activity import ActivityReader
from .frame_index import FrameIndex
from .list_screen import ListScreen


class TimelineScreen(ListScreen[int]):
    """Lists the events of all frames read so far. Enter closes it with the number of the frame that shows an event.

    Args:
        index: the frames.
    """

    def __init__(self, index: FrameIndex) -> None:
        super().__init__("timeline (Enter: its frame, Esc: back)")
        self._index = index
        self._events: list[ActivityEvent] = []

    def make(self) -> tuple[str, list[str]]:
        """Return the days, and a line for each event."""
        frames = map(self._index.frame, self.until_closed(self._index.numbers(0)))
        self._events = ActivityReader().read_results(map(FrameDecoder(self._index.catalog).decode, frames))
        days = dict.fromkeys(filter(None, map(day_text, self._events)))
        return " ".join(days), list(map(activity_line, self._events))

    def choice(self, line: int) -> int | None:
        """Return the frame that shows an event."""
        return self._events[line].frame
