"""Splits raw bytes into frames; what is outside of complete frames is kept, with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ..errors import BadFrame, DumpError
from ..protocol import Frame, FrameReader, Source, cut_short
from ..protocol.frames.stream_faults import BrokenDump
from .compressed_files import read_up_to_damage
from .kafka.connection_frames import SASL_HANDSHAKE_0

PIECE = 1 << 22  # bytes per item after an impossible size
LEAST_REQUEST = 12  # bytes of size, api key, version and correlation id


def read_raw_frames(portions: Iterator[bytes], file: str, remarks: list[str] | None = None) -> Iterator[Frame]:
    """Split bytes into frames; bytes outside of complete frames are yielded unchanged, with a fault if the reason is
    known. Where the file cannot be read further, this is added to the remarks.
    """
    reader = FrameReader()
    errors = list[DumpError]()
    portions = read_up_to_damage(portions, errors)
    try:
        for portion in portions:
            for frame in reader.feed(portion):
                if begins_tokens(frame.data):
                    reader.least = 0  # the response to a bare token may be empty
                yield replace(frame, source=replace(frame.source, file=file))
    except BadFrame:
        yield from _read_rest(reader, portions, file)
    else:
        cause = "the dump cannot be read further" if errors else "the dump ended"
        if reader.rest:
            yield Frame(reader.rest, Source(file, reader.count, reader.offset), fault=cut_short(reader.rest, cause))
    yield from report_damage(errors, file, [] if remarks is None else remarks)


def begins_tokens(frame: bytes) -> bool:
    """Whether a frame, with its size, is a SaslHandshake request after which frames have no header, and may be empty.

    >>> begins_tokens(bytes.fromhex("00000008 0011 0000 00000001")), begins_tokens(bytes.fromhex("00000004 00110000"))
    (True, False)
    """
    return frame.startswith(SASL_HANDSHAKE_0, 4) and len(frame) >= LEAST_REQUEST


def report_damage(errors: list[DumpError], file: str, remarks: list[str]) -> Iterator[Frame]:
    """Yield the position from which a file cannot be read further, if there is one; add it to the remarks."""
    for error in errors:
        remarks.append(error.reason)
        yield Frame(b"", Source(file), fault=BrokenDump(found=str(error), offset=error.offset or 0))


def _read_rest(reader: FrameReader, portions: Iterator[bytes], file: str) -> Iterator[Frame]:
    """Yield the bytes after an impossible size unchanged, in pieces, because the input may be endless."""
    rest = bytearray(reader.rest)
    offset = reader.offset
    count = reader.count
    for portion in portions:
        rest += portion
        if len(rest) >= PIECE:
            yield Frame(bytes(rest), Source(file, count, offset))
            offset, count = offset + len(rest), count + 1
            rest.clear()
    if rest:
        yield Frame(bytes(rest), Source(file, count, offset))
