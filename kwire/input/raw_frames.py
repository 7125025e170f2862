"""Reads raw frames one after the other, and the bytes behind the last whole frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..capture.conversation import SASL_HANDSHAKE_0
from ..errors import DumpError
from ..errors.decode import BadFrame
from ..protocol import Frame, FrameReader, Source, cut_short
from ..protocol.fragments import BrokenDump

PIECE = 1 << 22  # of bytes that are no frames


def raw_frames(portions: Iterator[bytes], file: str) -> Iterator[Frame]:
    """Cut frames out of bytes; what is in no whole frame is given out as it is, with what is wrong if that is known."""
    reader = FrameReader()
    try:
        for portion in portions:
            for frame in reader.feed(portion):
                if frame.data.startswith(SASL_HANDSHAKE_0, 4):
                    reader.least = 0  # the answer to a bare token may be empty
                yield replace(frame, source=replace(frame.source, file=file))
    except BadFrame:
        yield from _pieces(reader, portions, file)
        return
    except DumpError as error:
        yield from _rest(reader, file, "the dump cannot be read further")
        yield Frame(b"", Source(file), fault=BrokenDump(found=str(error), offset=error.offset or 0))
        return
    yield from _rest(reader, file, "the dump ended")


def _rest(reader: FrameReader, file: str, cause: str) -> Iterator[Frame]:
    if reader.rest:
        yield Frame(reader.rest, Source(file, reader.count, reader.offset), fault=cut_short(reader.rest, cause))


def _pieces(reader: FrameReader, portions: Iterator[bytes], file: str) -> Iterator[Frame]:
    """Give out what follows an impossible size as it is, in pieces, for the input may have no end."""
    rest, offset, count = bytearray(reader.rest), reader.offset, reader.count
    for portion in portions:
        rest += portion
        if len(rest) >= PIECE:
            yield Frame(bytes(rest), Source(file, count, offset))
            offset, count = offset + len(rest), count + 1
            rest.clear()
    if rest:
        yield Frame(bytes(rest), Source(file, count, offset))
