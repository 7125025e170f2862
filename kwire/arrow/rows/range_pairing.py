"""The state of a `Pairing` at the boundaries of the ranges of a capture."""

from __future__ import annotations

from typing import Any

from ...capture.ranges.frame_consumer import FrameConsumer
from ...protocol.frames.captured_frame import CapturedBatch
from ...protocol.headers.apis import Apis
from .frame_rows import Pairing, Row


class RangePairing(FrameConsumer):
    """Continues a pairing from range to range.

    Args:
        pairing: the pairing; by default one whose rows are not used.
        apis: the known apis.
    """

    def __init__(self, apis: Apis, pairing: Pairing | None = None) -> None:
        self.pairing: Pairing = pairing or Pairing(apis, drop_row)

    @property
    def apis(self) -> Apis:
        """The known apis."""
        return self.pairing.apis

    @property
    def state(self) -> Any:
        """The connections."""
        return self.pairing.connections

    def go_on(self, state: Any) -> None:
        """Continue with these connections."""
        self.pairing.connections = state

    def pass_over(self, batch: CapturedBatch) -> None:
        """Pair the frames of a batch, without rows."""
        batch.add_rows(self.pairing, self.pairing.connections, None)


def drop_row(row: Row) -> None:
    """Do nothing with a row."""
