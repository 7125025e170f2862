"""What can be wrong with a log as a whole: bytes in no batch, offsets that go down. Kin of `DecodeError`."""

from __future__ import annotations

from typing import Any

from ..errors import DecodeError
from ..faults import Tolerated


class NoBatch(DecodeError):
    """Bytes between the place where the batches were lost and the next good one; `found` says why they were lost."""

    problem = "{count} bytes are in no batch: {found}"
    quotes = False
    hint = "they were damaged, or written by something else; reading went on at the next batch with a right checksum"

    def __init__(self, count: int = 0, **facts: Any) -> None:
        super().__init__(count=count, **facts)


class OffsetOrder(Tolerated):
    """A batch whose offsets are not above those before it. No checksum covers offsets."""

    problem = "offset {found} comes after offset {need}"
    hint = "the base offset was damaged, or segments were put together in the wrong order"
