"""The newest frames of a server, without secrets. Sans-IO."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace

from ...protocol import Frame, Source
from ...redact.redaction_rules import REASONS
from ...redact.redactor import Redactor

MOST_RECORDED = 64 << 20  # bytes of frames that are kept
SECRETS = {"sasl", "scram", "token", "unknown"}  # a bare token whose SaslHandshake was forgotten is not recognised


class FrameRecorder:
    """Keeps the newest frames.

    Args:
        limit: how many bytes are kept; 0 keeps no frames.

    Attributes:
        is_on: whether frames are kept.
        has_secrets: whether frames carry passwords or equivalent secrets.
        left_out: how many frames were discarded to make room for newer frames.
        added: how many frames there were, those that are discarded or forgotten included.

    >>> recorder = FrameRecorder(limit=20)
    >>> for number in range(3):
    ...     recorder.add(bytes(8), Source(frame=number))
    >>> [frame.source.frame for frame in recorder.frames()], recorder.left_out
    ([1, 2], 1)
    """

    def __init__(self, limit: int = MOST_RECORDED) -> None:
        self.most: int = limit
        self.is_on: bool = limit > 0
        self.has_secrets: bool = False
        self.left_out: int = 0
        self.added: int = 0
        self._size = 0
        self._frames: deque[Frame] = deque()

    def add(self, data: bytes, source: Source) -> None:
        """Keep a frame, and discard the oldest frames to make room for it."""
        self._frames.append(Frame(data, source))
        self.added += 1
        self._size += len(data)
        while self._size > self.most:
            self._size -= len(self._frames.popleft().data)
            self.left_out += 1

    @property
    def missing(self) -> int:
        """How many frames there were before the oldest one that is kept."""
        return self.added - len(self._frames)

    def frames(self) -> Iterator[Frame]:
        """Return the frames, the oldest first, without secrets."""
        frames = list(self._frames)
        if not self.has_secrets:
            return iter(frames)
        redactor = Redactor(keep=REASONS.keys() - SECRETS)
        return (replace(frame, data=redactor.redact(frame)) for frame in frames)

    def clear(self) -> None:
        """Discard all frames."""
        self._frames.clear()
        self._size = self.left_out = 0
