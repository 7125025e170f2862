"""Omits streams of other protocols, and repeated remarks about a connection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...protocol import Undecodable
from ...protocol.frames.stream_faults import NotKafka
from ...render.frame_title import is_note
from ..input.log_entries import Other


class KafkaFrames:
    """Decides which frames are shown.

    A remark about a connection is shown once. Streams of other protocols are omitted, since a summary names them.

    Args:
        foreign: show the streams of other protocols.
    """

    def __init__(self, *, foreign: bool = False) -> None:
        self._foreign = foreign
        self._noted: set[tuple[str, object]] = set()

    def __call__(self, item: object) -> bool:
        """Whether an item is shown; called once for each."""
        if not isinstance(item, Undecodable) or not is_note(item):
            return True
        source = item.frame.source
        key = item.error.code, source.connection if source.connection is not None else source.frame
        if isinstance(item.error, NotKafka):
            return self._foreign
        is_new = key not in self._noted
        self._noted.add(key)
        return is_new


def omit_other_streams(decoded: Iterable[Other], *, foreign: bool = False) -> Iterator[Other]:
    """Yield the items that `KafkaFrames` shows."""
    return filter(KafkaFrames(foreign=foreign), decoded)
