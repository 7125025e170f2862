"""Byte ranges of a capture: each is decoded alone, from the states of its connections where it starts.

A first pass finds these states: it reads packets, cuts frames and pairs requests with responses, but decodes no bodies.
All ranges together then give exactly the frames that one reader of the whole file gives: lost and damaged bytes, other
protocols and frames across boundaries included. A record belongs to the range in which its first byte is. Connections
continue from file to file if a capture was rotated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ...protocol.frames.captured_frame import CapturedBatch
from ..files import open_file
from ..frame_extractor import FrameExtractor
from ..packets.capture_formats import CAPTURES
from ..packets.pcap import FILE_HEADER, PcapReader
from ..packets.pcapng import PcapngReader
from ..portions import PORTION, read_portions
from .boundary_states import dump_state, load_state
from .frame_consumer import FrameConsumer

CaptureReader = PcapReader | PcapngReader
READERS: dict[str, type[PcapReader] | type[PcapngReader]] = {"pcap": PcapReader, "pcapng": PcapngReader}


class CaptureRange(NamedTuple):
    """A byte range of a capture.

    Attributes:
        path: the file.
        start, stop: the positions of the first record and of the first record after the range.
        state: the states of the connections at the start.
        is_last: whether the range ends with the capture.
        ends_file: whether the range ends with the file.
    """

    path: str
    start: int
    stop: int
    state: bytes
    is_last: bool
    ends_file: bool

    @property
    def weight(self) -> int:
        """The size of the range in bytes."""
        return self.stop - self.start


def capture_class(head: bytes) -> type[PcapReader] | type[PcapngReader] | None:
    """Return the reader of a capture, by its first bytes; None if it is not a capture, or is compressed."""
    return next((READERS[kind] for kind, (magics, _) in CAPTURES.items() if head[:4] in magics), None)


def find_ranges(
    paths: Sequence[str], extractor: FrameExtractor, consumer: FrameConsumer, size: int
) -> Iterator[CaptureRange]:
    """Read a capture for the first time; yield each range as soon as its states are known.

    Args:
        paths: the files of one capture in order of time; they are captures and not compressed.
        extractor: a new extractor; afterwards it has the remarks of the whole capture.
        consumer: a new consumer, of the kind that will read the ranges.
        size: the size of a range, in bytes.

    Raises:
        DumpError: nothing in the files can be read.
        OSError: a file cannot be read.
    """
    shared = [extractor.recogniser]
    state = dump_state((None, None, consumer.state), consumer.apis, shared)
    for path in paths:
        with open_file(path) as stream:
            kind = capture_class(stream.read(FILE_HEADER))
            assert kind is not None
            stream.seek(0)
            reader = kind(read_portions(stream), path, looks_ahead=True)
            start, ends_file = 0, False
            while not ends_file:
                reader.stop = start + size
                for batch in extractor.receive(reader):
                    consumer.pass_over(batch)
                ends_file = extractor.broken is not None or not (reader.is_skipping or reader.cursor.fill(1))
                is_last = ends_file and path == paths[-1]
                stop = reader.cursor.offset
                if ends_file:
                    consumer.pass_over(extractor.finish() if is_last else extractor.end_file())
                yield CaptureRange(path, start, stop, state, is_last, ends_file)
                if not is_last:
                    position = None if ends_file else reader.position
                    state = dump_state((position, extractor.state, consumer.state), consumer.apis, shared)
                start = stop


@contextmanager
def open_range(
    part: CaptureRange, extractor: FrameExtractor, consumer: FrameConsumer
) -> Iterator[Iterator[CapturedBatch]]:
    """Open a range.

    Args:
        part: the range.
        extractor, consumer: a new extractor and a new consumer, which receive the states at the start of the range.

    Yields:
        An iterator of the batches of frames.

    Raises:
        DumpError: nothing in the file can be read.
        OSError: the file cannot be read.
    """
    with open_file(part.path, PORTION) as stream:
        head = stream.read(FILE_HEADER)
        kind = capture_class(head)
        assert kind is not None
        stream.seek(part.start)
        position, state, own = load_state(part.state, consumer.apis, [extractor.recogniser])
        consumer.go_on(own)
        if state is not None:
            extractor.go_on(state)
        if position is None:
            reader = kind(read_portions(stream), part.path, looks_ahead=True)
        else:
            reader = kind.go_on(head, read_portions(stream), part.path, position)
        yield _read_batches(reader, extractor, part)


def _read_batches(reader: CaptureReader, extractor: FrameExtractor, part: CaptureRange) -> Iterator[CapturedBatch]:
    if not part.ends_file:
        reader.stop = part.stop
    yield from extractor.receive(reader)
    if part.ends_file:
        yield extractor.finish() if part.is_last else extractor.end_file()
