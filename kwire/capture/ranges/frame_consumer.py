"""What reads the frames of a capture range by range."""

from __future__ import annotations

from typing import Any, Protocol

from ...protocol.frames.captured_frame import CapturedBatch
from ...protocol.headers.apis import Apis


class FrameConsumer(Protocol):
    """What reads the frames of a capture, and has a state of its own: which requests are in flight, and counts."""

    @property
    def apis(self) -> Apis:
        """The known apis."""

    @property
    def state(self) -> Any:
        """The state, of values that pickle."""

    def go_on(self, state: Any) -> None:
        """Continue from a state."""

    def pass_over(self, batch: CapturedBatch) -> None:
        """Process frames without output."""
