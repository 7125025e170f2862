"""Opens output files, which are never an input and never incomplete; writes frames as a capture or as raw frames."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from ..capture.writer import CaptureWriter, names_connection
from ..errors import DumpError
from ..protocol import Frame, Source
from ..protocol.framing import BareToken, NoFrame
from ..render.value_text import count_text
from .inputs import files_of
from .terminal import remark

IN_MEMORY = 1 << 24  # bytes of an unfinished page


def refuse_input(file: str | Path, inputs: Iterable[str], *, recursive: bool = False) -> None:
    """Raise DumpError if an output is one of the inputs, even under another name: a symbolic link, a hard link, `<`.

    Args:
        file: where to write.
        inputs: files; `-` is standard input.
        recursive: whether files in folders are inputs too.
    """
    try:
        found = Path(file).stat()
        if not Path(file).is_file():  # /dev/stdout, a pipe
            return
    except OSError:
        return  # the output does not exist yet
    for name, _ in files_of(list(inputs), recursive):
        try:
            read = os.fstat(sys.stdin.fileno()) if name == "-" else Path(name).stat()
        except (OSError, ValueError, AttributeError):
            continue
        if os.path.samestat(found, read):
            raise DumpError("this is the input itself", file=str(file), hint="write to another file")


@contextmanager
def output_bytes(
    file: str | None, inputs: Iterable[str] = (), *, recursive: bool = False, live: bool = False
) -> Iterator[BinaryIO]:
    """Open an output file, or standard output if the name is `-` or missing.

    An existing file is replaced only when the new one is complete; an incomplete one is removed. With `live`, the file
    itself is written from the beginning, so that it can be read meanwhile.

    Args:
        file: where to write.
        inputs, recursive: see `refuse_input`.
        live: write the file itself from the beginning.

    Raises:
        DumpError: the file is an input.
        OSError: the file cannot be written; the error has the given name.
    """
    if file in (None, "-"):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    refuse_input(file, inputs, recursive=recursive)
    if live or (Path(file).exists() and not Path(file).is_file()):  # /dev/stdout, a pipe
        with Path(file).open("wb") as stream:
            yield stream
        return
    target = Path(os.path.realpath(file))  # a link stays a link
    part = target.with_name(f"{target.name}.part")
    try:
        stream = part.open("wb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from None
    try:
        with stream:
            yield stream
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def output_text(
    file: str | None, inputs: Iterable[str] = (), *, recursive: bool = False
) -> Iterator[Callable[[str], object]]:
    """Yield a function that writes UTF-8 text to an output opened by `output_bytes`; writes all text or nothing."""
    with output_bytes(file, inputs, recursive=recursive) as stream:
        if stream is not sys.stdout.buffer:
            yield lambda text: stream.write(text.encode(errors="backslashreplace"))
            return
        with SpooledTemporaryFile(IN_MEMORY) as page:
            yield lambda text: page.write(text.encode(errors="backslashreplace"))
            page.seek(0)
            shutil.copyfileobj(page, stream)


class FrameOutput:
    """Writes frames; the first one determines the format.

    Args:
        stream: the file to write to.
        raw: write raw frames for every input.
    """

    def __init__(self, stream: BinaryIO, *, raw: bool = False) -> None:
        self.stream: BinaryIO = stream
        self.raw: bool = raw
        self.count: int = 0  # frames
        self._capture: CaptureWriter | None = None
        self._left_out: Counter[str] = Counter()
        self._connections: set[tuple[object, ...]] = set()  # at most two: raw output warns about several
        self._without_time = False

    def write(self, frame: Frame, data: bytes | None = None, nanoseconds: int | None = None) -> None:
        """Write a frame; the arguments are those of `CaptureWriter.write`."""
        data, source = frame.data if data is None else data, frame.source
        if isinstance(frame.fault, NoFrame) and source.client is None:
            self._left_out[str(frame.fault)] += 1  # a fault of the dump, not of a connection
            return
        if not self.count and not self.raw and names_connection(source):
            self._capture = CaptureWriter(self.stream)
        self.count += 1
        if self._capture is None:
            self._write_raw(frame, data)
            return
        self._without_time |= source.time is None and nanoseconds is None
        self._capture.write(frame, data, nanoseconds)

    def _write_raw(self, frame: Frame, data: bytes) -> None:
        source = frame.source
        if source.client is not None:
            if len(self._connections) < 2:
                self._connections.add((source.file, source.connection, source.client, source.broker))
            if (frame.fault is not None and not isinstance(frame.fault, BareToken)) or not _is_whole(data):
                self._left_out["incomplete frames"] += 1
                return
        self.stream.write(data)

    def end(self, source: Source) -> None:
        """Record that a connection has no more frames."""
        if self._capture is not None:
            self._capture.end(source)

    def finish(self) -> None:
        """Write the remaining frames; report on stderr what was written and what was lost."""
        if self._capture is not None:
            self._capture.close()
            count = count_text(self._capture.connections, "connection")
            remark(f"written as a capture (pcap) of {count}; addresses and ports stay; --raw writes raw frames")
            self._left_out += self._capture.left_out
            if self._without_time:
                remark("the input has no times: in the capture, they are 1970-01-01")
        if len(self._connections) > 1:
            remark("raw frames of several connections: a reader cannot pair their responses with requests")
        for what, count_left in self._left_out.items():
            remark(f"left out: {count_left} {what}")


def _is_whole(data: bytes) -> bool:
    return len(data) >= 4 and int.from_bytes(data[:4], "big") == len(data) - 4
