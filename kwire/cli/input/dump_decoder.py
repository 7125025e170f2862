"""Decodes the frames of all dumps that the options name: with which specs, how strictly, with secrets masked."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...capture.dump import Dump
from ...codecs.message_codec import Codec
from ...protocol import Frame, FrameDecoder, Result
from ...protocol.connections.decoded_connection import DecodedConnection
from ...protocol.headers.header import Header
from ...render.value_text import count_text
from ...schema.catalog import Catalog
from ..options.message_names import named_codec
from ..options.secrets import leave_unmasked, masker
from ..options.specs import catalog_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from .dumps import dumps_in

if TYPE_CHECKING:
    from ...capture.logs.disk_entry import DiskEntry
    from ...capture.logs.log_batch import LogBatch, LogBytes

HELD = 1 << 26  # bytes of requests in flight that `DumpDecoder.exchange` keeps
_Received = tuple[Frame, DecodedConnection, Header]


def results(
    options: argparse.Namespace,
    *,
    trace: bool = False,
    salvage: bool = True,
    sealed: bool = True,
    remarks: list[str] | None = None,
) -> Iterator[Result]:
    """Decode the frames of all files, file by file; raise an error for a log. Remarks go to stderr and into `remarks`.

    Secrets are masked unless --show-secrets is given or `sealed` is false; then the caller must mask them.
    """
    from ...capture.logs.log_batch import LogBatch, LogBytes

    for item in items(options, trace=trace, salvage=salvage, sealed=sealed, remarks=remarks, logs=False):
        assert not isinstance(item, LogBatch | LogBytes)
        yield item


def items(
    options: argparse.Namespace,
    *,
    trace: bool = False,
    salvage: bool = True,
    sealed: bool = True,
    remarks: list[str] | None = None,
    logs: bool = True,
) -> Iterator[Result | LogBatch | LogBytes]:
    """Decode as `results` does, and also yield the batches of logs."""
    reading = DumpDecoder(options, trace=trace, salvage=salvage, sealed=sealed)
    for dump in dumps_in(options, remarks, logs=logs):
        yield from reading.items(dump)


class DumpDecoder:
    """How the items of dumps are read: with which specs, how strictly, and whether secrets are masked."""

    def __init__(
        self,
        options: argparse.Namespace,
        *,
        trace: bool = False,
        salvage: bool = True,
        sealed: bool = True,
    ) -> None:
        self.trace: bool = trace
        self.salvage: bool = salvage
        self.options = options
        self.sealed: bool = sealed and not getattr(options, "show_secrets", False)
        self.seal: Callable[[Result], Result] = masker(options) if sealed else leave_unmasked
        self.catalog: Catalog = catalog_of(options)
        self.named: Codec | None = (
            named_codec(options.named, self.catalog, bare=options.body) if options.named else None
        )
        if options.body and self.named is None:
            raise UsageError("--body needs to know the message: add --as NAME:VERSION, such as --as MetadataRequest:12")

    def decoder(self) -> FrameDecoder:
        """Return the decoder of one dump."""
        answers = self.named if self.named and self.named.spec.type == "response" else None
        return FrameDecoder(self.catalog, salvage=self.salvage, trace=self.trace, answers=answers)

    def with_disk(self, dump: Dump) -> Iterator[Result | LogBatch | LogBytes | DiskEntry]:
        """Decode as `items` does, and yield the entries of a file beside the segments."""
        yield from self.items(dump) if dump.disk is None else dump.disk.items

    def items(self, dump: Dump) -> Iterator[Result | LogBatch | LogBytes]:
        """Decode the frames of a dump, or yield the batches of a log."""
        if dump.batches is not None:
            yield from _mask_batches(dump.batches) if self.sealed else dump.batches
        else:
            yield from self.results(dump)

    def results(self, dump: Dump) -> Iterator[Result]:
        """Decode the frames of a dump."""
        decoder = self.decoder()
        for frame in dump.frames:
            yield self.seal(decoder.decode(_name_frame(frame, self.named, self.options)))

    def exchange(self, dump: Dump, number: int) -> Iterator[Result]:
        """Decode one frame and its response or request; stop reading after both.

        Args:
            dump: the dump.
            number: the number of the frame, from 0.
        """
        decoder, in_flight, size, count = self.decoder(), dict[int, _Received](), 0, 0
        wanted: Header | None = None
        for count, frame in enumerate(dump.frames, 1):  # noqa: B007
            frame = _name_frame(frame, self.named, self.options)
            connection, header = decoder.connections.receive(frame)
            received = frame, connection, header
            pending = in_flight.pop(id(header.request), None)
            size -= len(pending[0].data) if pending is not None else 0
            if frame.source.frame == number:
                yield from (
                    self.seal(decoder.result(*received_frame))
                    for received_frame in (pending, received)
                    if received_frame is not None
                )
                if not any(received_frame is header for received_frame in connection.in_flight):
                    return
                wanted = header
            elif wanted is not None and header.request is wanted:
                yield self.seal(decoder.result(*received))
                return
            elif wanted is None and header.is_request:
                in_flight[id(header)] = received
                size += len(frame.data)
                while size > HELD:
                    size -= len(in_flight.pop(next(iter(in_flight)))[0].data)
        if wanted is None:
            raise UsageError(f"--request {number}: {dump.file} has {count_text(count, 'frame')}, numbered from 0")
        remark(f"frame {number} has no response in {dump.file}")


def _mask_batches(batches: Iterator[LogBatch | LogBytes]) -> Iterator[LogBatch | LogBytes]:
    """Mask bytes between the batches of Kafka's own logs if they may be secret; batches are masked when opened."""
    from ...capture.logs.log_batch import LogBatch, LogBytes
    from ...capture.logs.mask_logs import mask_log_bytes

    topic = None
    for item in batches:
        if isinstance(item, LogBatch):
            topic = item.topic or ""
        yield mask_log_bytes(item, topic) if isinstance(item, LogBytes) else item


def _name_frame(frame: Frame, named: Codec | None, options: argparse.Namespace) -> Frame:
    """Add the type that the options name to a frame; a fixture's own type takes precedence."""
    if named is None or frame.message is not None or (named.spec.type == "response" and not options.body):
        return frame
    return replace(frame, message=named.name, version=named.version, bare=options.body)
