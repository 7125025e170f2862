"""Shared by the commands that read dumps or write files: --as, --body, --profile, decoding of the frames of all files.

An output file is never an input and never incomplete; frames are written as a capture or as raw frames.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path, PurePath
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, TypeVar, cast

from .. import native
from ..caches import lazy_pattern
from ..capture.capture_writer import CaptureWriter, names_connection
from ..capture.dump import Dump
from ..capture.files import find_entry, list_folder, local_path
from ..capture.kafka.captured_frames import build_timed_frames
from ..capture.kafka.other_protocols import ZOOKEEPER
from ..capture.open_dump import open_dump
from ..capture.open_text import open_hex
from ..capture.tcp.connection_share import ALL, ConnectionShare
from ..codecs import Codec, codec_in
from ..errors import DecodeError, DumpError
from ..protocol import Frame, FrameDecoder, Result, Source
from ..protocol.framing import BareToken, BrokenDump, CapturedBatch, CutRecord, Damaged, NoFrame, NotKafka
from ..protocol.header_reader import DecodedConnection, Peek
from ..protocol.headers import Header
from ..render.value_text import count_text
from ..spec.catalog import Catalog, catalog_for
from .options import UsageError
from .terminal import remark
from .terminal_bytes import TerminalBytes

if TYPE_CHECKING:  # imported only to read logs or mask secrets, not for `kwire stats`
    from ..capture.logs.disk_entry import DiskEntry
    from ..capture.logs.log_batch import LogBatch, LogBytes

SHOWN = 3  # damaged places that a remark lists
LARGE = 8 << 20  # bytes of a file that takes seconds to read without the native engine


class NonKafkaStreams:
    """Counts the streams of other protocols, and damaged bytes, while a dump is read."""

    def __init__(self, knows_zookeeper: bool = False) -> None:
        self.knows_zookeeper: bool = knows_zookeeper
        self.connections: dict[str, set[int | None]] = {}
        self.elsewhere: Counter[str] = Counter()  # connections that other processes counted
        self.bytes: Counter[str] = Counter()
        self.hints: dict[str, str] = {}
        self.damaged: int = 0  # bytes
        self.places: list[int] = []  # the positions of the damage, in bytes from the start of the file

    def watched(self, dump: Dump) -> Dump:
        """Return a dump that counts streams of other protocols and damage while its frames are read."""
        captured = None if dump.captured is None else self._batches(dump.captured)
        return replace(dump, frames=self._frames(dump.frames), captured=captured)

    def _frames(self, frames: Iterator[Frame]) -> Iterator[Frame]:
        for frame in frames:
            if frame.fault is not None:
                self._look(frame.fault, frame.source.connection)
            yield frame

    def _batches(self, batches: Iterator[CapturedBatch]) -> Iterator[CapturedBatch]:
        for batch in batches:
            for captured in batch.others():
                if type(captured) is tuple and captured[5] is not None:
                    self._look(captured[5], captured[0].connection)
            yield batch

    def _look(self, fault: DecodeError, connection: int | None) -> None:
        if isinstance(fault, NotKafka):
            if not (self.knows_zookeeper and fault.found == ZOOKEEPER):
                self._add(fault, connection)
        elif isinstance(fault, Damaged):
            self.damaged += fault.count or 0
            self.places.append(fault.offset)

    def _add(self, fault: NotKafka, connection: int | None) -> None:
        name = str(fault.found)
        self.connections.setdefault(name, set()).add(connection)
        self.bytes[name] += fault.count or 0
        self.hints[name] = fault.hint

    def add(self, connections: dict[str, int], sizes: dict[str, int], hints: dict[str, str]) -> None:
        """Add the counts of another share."""
        self.elsewhere.update(connections)
        self.bytes.update(sizes)
        self.hints |= hints

    @property
    def counts(self) -> dict[str, int]:
        """The number of connections of each protocol."""
        return {name: len(self.connections.get(name, ())) + self.elsewhere[name] for name in self.hints}

    def texts(self) -> Iterator[str]:
        """Yield a line for each kind of stream that is damaged or is not Kafka's."""
        if self.places:
            first = ", ".join(map(str, self.places[:SHOWN])) + (", ..." if len(self.places) > SHOWN else "")
            yield f"{count_text(self.damaged, 'byte')} of the capture are damaged, at offset {first}: kept, not decoded"
        for name, count in self.counts.items():
            what = f"{count_text(count, 'connection')} of {name}, {count_text(self.bytes[name], 'byte')}"
            yield f"{what}: not Kafka's protocol" + (f"; {self.hints[name]}" if self.hints[name] else "")


T = TypeVar("T")
_NAMED = lazy_pattern(r"([A-Za-z0-9_-]+)(?:[:\s]v?(\d{1,5}))?")


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
    from ..capture.logs.log_batch import LogBatch, LogBytes

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
    reading = Reading(options, trace=trace, salvage=salvage, sealed=sealed)
    for dump in dumps_in(options, remarks, logs=logs):
        yield from reading.items(dump)


HELD = 1 << 26  # bytes of requests in flight that `Reading.exchange` keeps
_Received = tuple[Frame, DecodedConnection, Header]


class PushedFilter:
    """A filter that tests headers before bodies are decoded; counts the frames that it excludes."""

    def __init__(self, wanted: Callable[[Peek], bool]) -> None:
        self.wanted: Callable[[Peek], bool] = wanted
        self.skipped: int = 0  # frames


class Reading:
    """How the items of dumps are read: with which specs, how strictly, and whether secrets are masked."""

    def __init__(
        self,
        options: argparse.Namespace,
        *,
        trace: bool = False,
        salvage: bool = True,
        sealed: bool = True,
        pushed: PushedFilter | None = None,
    ) -> None:
        self.trace: bool = trace
        self.pushed: PushedFilter | None = pushed
        self.salvage: bool = salvage
        self.options = options
        self.sealed: bool = sealed and not getattr(options, "show_secrets", False)
        self.seal: Callable[[Result], Result] = masker(options) if sealed else _as_it_is
        self.catalog: Catalog = catalog_of(options)
        self.named = named_codec(options.named, self.catalog, bare=options.body) if options.named else None
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
            if self.named is not None:
                raise UsageError("--as names what a frame holds; --log-of says which topic a log is of")
            yield from _sealed(dump.batches) if self.sealed else dump.batches
        else:
            yield from self.results(dump)

    def results(self, dump: Dump) -> Iterator[Result]:
        """Decode the frames of a dump."""
        decoder, pushed = self.decoder(), self.pushed
        for frame in dump.frames:
            frame = _named_frame(frame, self.named, self.options)
            if pushed is None:
                yield self.seal(decoder.decode(frame))
            elif (result := decoder.decode_wanted(frame, pushed.wanted)) is not None:
                yield self.seal(result)
            else:
                pushed.skipped += 1

    def exchange(self, dump: Dump, number: int) -> Iterator[Result]:
        """Decode one frame and its response or request; stop reading after both.

        Args:
            dump: the dump.
            number: the number of the frame, from 0.
        """
        decoder, in_flight, size, count = self.decoder(), dict[int, _Received](), 0, 0
        wanted: Header | None = None
        for count, frame in enumerate(dump.frames, 1):  # noqa: B007
            frame = _named_frame(frame, self.named, self.options)
            connection, header = decoder.connections.receive(frame)
            received = frame, connection, header
            asked = in_flight.pop(id(header.request), None)
            size -= len(asked[0].data) if asked is not None else 0
            if frame.source.frame == number:
                yield from (self.seal(decoder.result(*one)) for one in (asked, received) if one is not None)
                if not any(one is header for one in connection.in_flight):
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


def masker(options: argparse.Namespace) -> Callable[[Result], Result]:
    """Return the function that masks the secrets of a result; with --show-secrets it changes nothing."""
    from ..redact.masking import mask

    return _as_it_is if getattr(options, "show_secrets", False) else mask


def _sealed(batches: Iterator[LogBatch | LogBytes]) -> Iterator[LogBatch | LogBytes]:
    """Mask bytes between the batches of Kafka's own logs if they may be secret; batches are masked when opened."""
    from ..capture.logs.log_batch import LogBatch, LogBytes
    from ..capture.logs.mask_logs import mask_log_bytes

    topic = None
    for item in batches:
        if isinstance(item, LogBatch):
            topic = item.topic or ""
        yield mask_log_bytes(item, topic) if isinstance(item, LogBytes) else item


def _as_it_is(result: Result) -> Result:
    return result


def title_of(options: argparse.Namespace) -> str:
    """Return the names of all inputs in one line."""
    return ", ".join([*(["hex text"] if options.hex is not None else []), *options.files])


def part_read(options: argparse.Namespace) -> float | None:
    """Return the fraction of all input files that `dumps_in` has read, 0 to 1; None if a size is unknown."""
    position: Callable[[], int] | None = getattr(options, "position", None)
    if position is None:
        return None
    if "input_size" not in options:
        options.input_size = _size_of(options)
    with suppress(ValueError):  # the file was closed meanwhile
        return min(position() / options.input_size, 1.0) if options.input_size else None
    return None


def _size_of(options: argparse.Namespace) -> int | None:
    """Return the total size of all input files in bytes; None if a size is unknown."""
    sizes = []
    for file, _ in files_of(options.files, getattr(options, "recursive", False)):
        path = local_path(file)
        if file == "-" or path is None or not path.is_file():
            return None
        sizes.append(path.stat().st_size)
    return sum(sizes)


def dumps_in(
    options: argparse.Namespace,
    remarks: list[str] | None = None,
    *,
    logs: bool = False,
    share: ConnectionShare = ALL,
    non_kafka: NonKafkaStreams | None = None,
    zookeeper: bool = False,
) -> Iterator[Dump]:
    """Open one input after the other; skip a file in a folder that is not a dump, with a remark.

    Remarks about an input are added to `remarks`, too. A log is an error unless `logs` is true. For a single file, a
    `share` may be read; `non_kafka` then counts the streams of other protocols, so that the counts of other shares can
    be added before the summary. With `zookeeper`, packets of ZooKeeper are frames with a fault, without a remark.
    """
    bare, before = getattr(options, "body", False), 0
    for file, opened, found in _inputs(options, bare, share, zookeeper):
        try:
            with opened as dump:
                options.position = partial(_position, dump, before)
                if not bare:
                    remark(f"{file}: read as {dump.kind}")
                    _note_missing_engine(file)
                if (dump.batches is not None or dump.disk is not None) and not logs:
                    next(dump.frames)  # reports the missing frames, and what to use instead
                others = non_kafka or NonKafkaStreams(knows_zookeeper=zookeeper)
                dump = others.watched(_naming(dump, file))
                yield _lenient(dump, file) if found else dump
                for text in (*dump.remarks, *others.texts()):
                    remark(f"{file}: {text}")
                    if remarks is not None:
                        remarks.append(f"{file}: {text}")
                before = options.position()
        except (DumpError, OSError) as error:
            if not found or isinstance(error, BrokenPipeError):
                raise (_with_name(error, file) if isinstance(error, OSError) else error) from None
            _skip(file, error)


def _position(dump: Dump, before: int) -> int:
    return before + dump.position()


def _naming(dump: Dump, file: str) -> Dump:
    """Return a dump whose OSErrors name the file."""
    captured = None if dump.captured is None else _named_in_errors(dump.captured, file)
    batches = None if dump.batches is None else _named_in_errors(dump.batches, file)
    disk = None if dump.disk is None else replace(dump.disk, items=_named_in_errors(dump.disk.items, file))
    return replace(dump, frames=_named_in_errors(dump.frames, file), captured=captured, batches=batches, disk=disk)


def _named_in_errors(items: Iterator[T], file: str) -> Iterator[T]:
    try:
        yield from items
    except OSError as error:
        raise _with_name(error, file) from None


def _with_name(error: OSError, file: str) -> OSError:
    return error if error.filename is not None else OSError(error.errno, error.strerror or str(error), file)


def _lenient(dump: Dump, file: str) -> Dump:
    """Read a file of a folder up to the first error, so that the other files are still read."""
    captured = None if dump.captured is None else _as_far(dump.captured, file)
    return replace(dump, frames=_as_far(dump.frames, file), captured=captured)


def _as_far(items: Iterator[T], file: str) -> Iterator[T]:
    try:
        yield from items
    except (DumpError, OSError) as error:
        _skip(file, error)


@cache
def _remark_missing_engine() -> None:
    remark(f"a large file, and the native engine, which is several times as fast, is not used: {native.MISSING}")


def _note_missing_engine(file: str) -> None:
    """Say once that the native engine is missing, before a file that is slow to read without it."""
    if native.MISSING and Path(file).is_file() and Path(file).stat().st_size >= LARGE:
        _remark_missing_engine()


def _skip(file: str, error: DumpError | OSError) -> None:
    remark(f"{file}: skipped: {getattr(error, 'problem', '') or getattr(error, 'strerror', '')}")


def _inputs(
    options: argparse.Namespace, bare: bool, share: ConnectionShare, zookeeper: bool
) -> Iterator[tuple[str, AbstractContextManager[Dump], bool]]:
    """Yield all inputs with their names, and whether they come from a folder: the text of --hex, then the files."""
    text, topic = getattr(options, "hex", None), getattr(options, "log_of", None)
    catalog = catalog_of(options) if hasattr(options, "schemas") else None
    if not options.files and text is None:
        raise UsageError("the following arguments are required: FILE, or --hex TEXT")
    if text is not None:
        yield "--hex", nullcontext(open_hex(text, bare=bare, topic=topic)), False
    if (keys := getattr(options, "keylog", None)) is not None:
        yield from _decrypted(options, keys)
        return
    if (stop := followed(options)) is not None:
        yield options.files[0], open_dump(options.files[0], catalog=catalog, followed=stop), False
        return
    for file, found in files_of(options.files, getattr(options, "recursive", False)):
        yield file, open_dump(file, bare=bare, catalog=catalog, topic=topic, share=share, zookeeper=zookeeper), found


def _decrypted(options: argparse.Namespace, keys: str) -> Iterator[tuple[str, AbstractContextManager[Dump], bool]]:
    from ..capture.packet_text.tls_decryption import decrypt_tls

    if options.recursive or "-" in options.files or options.hex is not None or getattr(options, "follow", False):
        raise UsageError("--keylog takes captures by name: it cannot be combined with -, -r, --hex and --follow")
    for file in options.files:
        yield file, nullcontext(Dump(*decrypt_tls(file, keys), file=file)), False


def followed(options: argparse.Namespace) -> Callable[[], bool] | None:
    """Return a function that tells whether --follow should end; None without the option.

    The first Ctrl-C or SIGTERM ends the input like the end of a file; a second one interrupts the command.
    """
    if not getattr(options, "follow", False):
        return None
    alone = options.hex is None and len(options.files) == 1 and not options.recursive and "-" not in options.files
    if not alone or getattr(options, "body", False) or getattr(options, "log_of", None):
        raise UsageError("--follow takes one file that grows, or one folder in which tcpdump rotates captures")
    stopped: list[int] = []

    def stop(number: int, _: object) -> None:
        stopped.append(number)
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.default_int_handler)

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, stop)
    return lambda: bool(stopped)


def timed_frames(dump: Dump) -> Iterator[tuple[Frame, int | None]]:
    """Yield the frames of a dump, each with its exact time in nanoseconds since 1970 if the dump is a capture, else
    None.
    """
    if dump.captured is not None:
        return build_timed_frames(dump.captured, dump.file)
    return ((frame, None) for frame in dump.frames)


def files_of(names: list[str], recursive: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the named files, with `recursive` also the files in folders, and whether each comes from a folder.

    The files of a folder are in the order of their names, without hidden files.
    """
    for name in names:
        entry = find_entry(name) if recursive and name != "-" else None
        if entry is None or not entry.is_folder:
            yield name, False
            continue
        found = list(_within(name, set()))
        if not found:
            raise DumpError("there are no files in this folder", file=name, hint="hidden ones are left out")
        yield from ((path, True) for path in sorted(found, key=PurePath))


def _within(folder: str, visited: set[tuple[int, int]]) -> Iterator[str]:
    """Yield the files in a folder and its folders; each folder once, even if symbolic links lead to it again."""
    local = local_path(folder)
    if local is not None:
        status = local.stat()
        identity = status.st_dev, status.st_ino
        if identity in visited:
            return
        visited.add(identity)
    for entry in list_folder(folder):
        if not entry.name.startswith("."):
            yield from _within(entry.path, visited) if entry.is_folder else [entry.path]


def catalog_of(options: argparse.Namespace) -> Catalog:
    """Return the specs that --schemas and --profile name; a folder is read once per run."""
    if options.schemas and options.profile:
        raise UsageError("--schemas and --profile cannot be combined")
    if "catalog" not in options:
        options.catalog = Catalog.from_directory(options.schemas) if options.schemas else catalog_for(options.profile)
    catalog: Catalog = options.catalog
    return catalog


def name_and_version(text: str) -> tuple[str, int | None]:
    """Parse NAME or NAME:VERSION, the syntax of all arguments that name an api or a message. Raises UsageError."""
    match = _NAMED.fullmatch(text)
    if match is None:
        raise UsageError(f"{text}: write NAME or NAME:VERSION, such as Metadata:12")
    return match[1], None if match[2] is None else int(match[2])


def named_codecs(text: str, catalog: Catalog) -> list[Codec]:
    """Find the codecs that NAME or NAME:VERSION names: an api's request and response, or one message.

    Without a version, the newest is used. Raises UsageError, UnknownMessage, UnsupportedVersion.
    """
    word, version = name_and_version(text)
    names = catalog.named(word, version)
    return [codec_in(catalog, name, catalog.spec(name).versions.last if version is None else version) for name in names]


def named_codec(text: str, catalog: Catalog, *, bare: bool = False) -> Codec:
    """Find the codec that `--as` names: a message, or an api's response.

    Raises:
        UsageError: the text is not NAME:VERSION, or names an api although a bare body needs a message.
        UnknownMessage, UnsupportedVersion: there is no such api, message or version.
    """
    word, version = name_and_version(text)
    if version is None:
        raise UsageError(f"--as {text}: write NAME:VERSION, such as Metadata:12")
    names = catalog.named(word, version)
    if len(names) > 1 and bare:
        raise UsageError(f"--as {text}: write {' or '.join(f'{name}:{version}' for name in names)} for a body")
    return codec_in(catalog, names[-1], version)


def _named_frame(frame: Frame, named: Codec | None, options: argparse.Namespace) -> Frame:
    """Add the type that the options name to a frame; a fixture's own type takes precedence."""
    if named is None or frame.message is not None or (named.spec.type == "response" and not options.body):
        return frame
    return replace(frame, message=named.name, version=named.version, bare=options.body)


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
            yield cast(BinaryIO, TerminalBytes(stream)) if stream.isatty() else stream
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
        if isinstance(frame.fault, BrokenDump | CutRecord):
            return  # a remark of the dump says it
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
