"""Continues raw frames from batch to batch of a stream: the start of a frame and the requests in flight are stored."""

from __future__ import annotations

from itertools import chain
from typing import Any

import msgspec

from ...errors import BadFrame
from ..batch_reader import BatchReader
from ..ranges.packet_chunks import chunks_of
from ..ranges.packet_rows import ENTRY
from ..raw_frames import RawFrameWalker, fragments
from ..rows.frame_rows import Pairing, RawFrameState


class StoredTail(msgspec.Struct, frozen=True):
    """The stored state of raw frames: the bytes of an incomplete frame, their position, and the requests in flight.

    `broken` is the impossible size that has ended the frames.
    """

    data: bytes = b""
    place: int = 0
    state: RawFrameState = RawFrameState()
    broken: int | None = None


def raw_batch(reading: BatchReader, batch: Any, kept: bytes | None) -> tuple[list[Any], bytes | None]:
    """Decode the bytes by which a file of raw frames has grown.

    Args:
        reading: what rows of frames are made.
        batch: a table of `packet_scan.SCHEMA`, sorted by its columns.
        kept: the state that this function returned for the previous batch.

    Returns:
        The record batches of the new frames, and the state to store; None if the file has ended.
    """
    chunks = list(chunks_of(batch.to_batches()))
    tail = StoredTail() if kept is None else msgspec.msgpack.decode(kept, type=StoredTail)
    options, builder, batches = reading.options, reading.builder, list[Any]()
    builder.clear()
    builder.begin(chunks[0].path)
    pairing, is_end = Pairing(reading.apis, builder.rows), chunks[0].kind == ENTRY
    pairing.resume(tail.state)
    portions = chain([tail.data], (chunk.packets for chunk in chunks))
    walker = RawFrameWalker(portions, tail.place, options.max_frame_bytes, options.max_corrupt_bytes, tail.state.least)
    rest, position, broken = b"", tail.place, tail.broken
    fault = BadFrame(offset=0, found=broken, need=walker.least, have=options.max_frame_bytes)
    more = walker.cuts() if broken is None else fragments(portions, position, fault, options.max_corrupt_bytes)
    for cuts in more:
        offset, data, problem = cuts[-1]
        if isinstance(problem, BadFrame):
            broken = problem.found
        elif problem is not None and not is_end:
            rest += data
            continue
        pairing.raw(cuts)
        position = offset + len(data)
        batches += builder.ready()
    batches += builder.rest()
    after = StoredTail(rest, position, pairing.state(walker.least), broken)
    return batches, None if is_end else msgspec.msgpack.encode(after)
