"""Opens the inputs that the options name, one after the other, with remarks about each on stderr."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec.structs import replace

from ...capture.dump import Divide, Dump
from ...capture.files import local_path
from ...capture.open_dump import open_dump
from ...capture.open_text import open_hex
from ...capture.tcp.connection_share import ALL, ConnectionShare
from ...codecs import native
from ...errors import DumpError
from ..options.specs import catalog_of
from ..options.usage_error import UsageError
from ..terminal.remarks import remark
from .files import files_of
from .follow import followed
from .input_options import refuse_inapplicable
from .non_kafka_streams import NonKafkaStreams

if TYPE_CHECKING:
    from ...capture.ranges.capture_ranges import CaptureRange

PCAPNG = b"\x0a\x0d\x0d\x0a"  # the type of a section header block
LARGE = 8 << 20  # bytes of a file that takes seconds to read without the native engine
T = TypeVar("T")


def dumps_in(
    options: argparse.Namespace,
    remarks: list[str] | None = None,
    *,
    logs: bool = False,
    share: ConnectionShare = ALL,
    non_kafka: NonKafkaStreams | None = None,
    zookeeper: bool = False,
) -> Iterator[Dump]:
    """Open one input after the other; for the arguments see `inputs_in`."""
    for named in inputs_in(options, remarks, logs=logs, share=share, non_kafka=non_kafka, zookeeper=zookeeper):
        yield from named.open()


class NamedInput(NamedTuple):
    """An input that is not open yet.

    Attributes:
        file: its name.
        is_file: whether it is read from `file` as it is, neither from text nor decrypted.
        open: yields its dump, and closes it afterwards with remarks; yields nothing for a file that is skipped.
    """

    file: str
    is_file: bool
    open: Callable[[], Iterator[Dump]]


def inputs_in(
    options: argparse.Namespace,
    remarks: list[str] | None = None,
    *,
    logs: bool = False,
    share: ConnectionShare = ALL,
    non_kafka: NonKafkaStreams | None = None,
    zookeeper: bool = False,
) -> Iterator[NamedInput]:
    """Yield the inputs; several may be open at once. A file in a folder that is not a dump is skipped, with a remark.

    Remarks about an input are added to `remarks`, too. A log is an error unless `logs` is true. For a single file, a
    `share` may be read; `non_kafka` then counts the streams of other protocols, so that the counts of other shares can
    be added before the summary. With `zookeeper`, packets of ZooKeeper are frames with a fault, without a remark.
    """
    bare = getattr(options, "body", False)
    positions = options.position = _Positions()

    def open_source(source: _Source) -> Iterator[Dump]:
        file = source.file
        with source.opened as dump, positions.of(dump):
            if not bare:
                remark(f"{file}: read as {dump.kind}")
                _note_missing_engine(file)
            if (dump.batches is not None or dump.disk is not None) and not logs:
                next(dump.frames)  # reports the missing frames, and what to use instead
            refuse_inapplicable(dump if dump.file else replace(dump, file=file), options)
            others = non_kafka or NonKafkaStreams(knows_zookeeper=zookeeper)
            dump = others.watched(_naming(dump, file))
            yield _lenient(dump, file) if source.is_found else dump
            for text in (*dump.remarks, *others.texts()):
                remark(f"{file}: {text}")
                if remarks is not None:
                    remarks.append(f"{file}: {text}")

    for source in _inputs(options, bare, share, zookeeper):
        yield NamedInput(source.file, source.is_file, partial(_report_errors, source, open_source))


def _report_errors(source: _Source, open_source: Callable[[_Source], Iterator[Dump]]) -> Iterator[Dump]:
    """Yield the dump of an input, and name the input in errors; those of a file in a folder are remarks."""
    try:
        yield from open_source(source)
    except (DumpError, OSError) as error:
        if not source.is_found or isinstance(error, BrokenPipeError):
            raise (_with_name(error, source.file) if isinstance(error, OSError) else error) from None
        _skip(source.file, error)


class _Positions:
    """The number of bytes that were read of all inputs."""

    def __init__(self) -> None:
        self._closed = 0
        self._open: list[Callable[[], int]] = []

    def __call__(self) -> int:
        return self._closed + sum(position() for position in self._open)

    @contextmanager
    def of(self, dump: Dump) -> Iterator[None]:
        """Count the bytes of a dump while it is open, and afterwards."""
        self._open.append(dump.position)
        try:
            yield
            self._closed += dump.position()
        finally:
            self._open.remove(dump.position)


class _Source(NamedTuple):
    """An input as the options name it, and whether it comes from a folder."""

    file: str
    opened: AbstractContextManager[Dump]
    is_found: bool
    is_file: bool = False


def _naming(dump: Dump, file: str) -> Dump:
    """Return a dump whose OSErrors name the file."""
    captured = None if dump.captured is None else _name_in_errors(dump.captured, file)
    batches = None if dump.batches is None else _name_in_errors(dump.batches, file)
    disk = None if dump.disk is None else replace(dump.disk, items=_name_in_errors(dump.disk.items, file))
    frames, divide = _name_in_errors(dump.frames, file), _around(dump.divide, _name_in_errors, file)
    return replace(dump, frames=frames, captured=captured, batches=batches, disk=disk, divide=divide)


def _around(divide: Divide | None, around: Callable[..., Iterator[CaptureRange]], file: str) -> Divide | None:
    """Return a function whose ranges are passed through another one."""
    return None if divide is None else lambda consumer, size: around(divide(consumer, size), file)


def _name_in_errors(items: Iterator[T], file: str) -> Iterator[T]:
    try:
        yield from items
    except OSError as error:
        raise _with_name(error, file) from None


def _with_name(error: OSError, file: str) -> OSError:
    return error if error.filename is not None else OSError(error.errno, error.strerror or str(error), file)


def _lenient(dump: Dump, file: str) -> Dump:
    """Read a file of a folder up to the first error, so that the other files are still read."""
    captured = None if dump.captured is None else _as_far(dump.captured, file)
    divide = _around(dump.divide, _as_far, file)
    return replace(dump, frames=_as_far(dump.frames, file), captured=captured, divide=divide)


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


def _inputs(options: argparse.Namespace, bare: bool, share: ConnectionShare, zookeeper: bool) -> Iterator[_Source]:
    """Yield all inputs: the text of --hex, then the files."""
    text, topic = getattr(options, "hex", None), getattr(options, "log_of", None)
    catalog = catalog_of(options) if hasattr(options, "schemas") else None
    if not options.files and text is None:
        raise UsageError("the following arguments are required: FILE, or --hex TEXT")
    if text is not None:
        yield _Source("--hex", nullcontext(open_hex(text, bare=bare, topic=topic)), False)
    if (keys := getattr(options, "keylog", None)) is not None:
        yield from _decrypt_captures(options, keys)
        return
    if (stop := followed(options)) is not None:
        yield _Source(options.files[0], open_dump(options.files[0], catalog=catalog, followed=stop), False)
        return
    for file, is_named in files_of(options.files, getattr(options, "recursive", False)):
        if not bare and not share.part:
            yield from _decrypt_with_secrets(file, is_named)
        opened = open_dump(file, bare=bare, catalog=catalog, topic=topic, share=share, zookeeper=zookeeper)
        yield _Source(file, opened, is_named, is_file=not bare)


def _decrypt_with_secrets(file: str, is_named: bool) -> Iterator[_Source]:
    """Yield the decrypted connections of a pcapng that has the keys itself; the others are read as usual."""
    path = local_path(file) if file != "-" else None
    if path is None or not path.is_file() or not _is_pcapng(path):
        return
    from ...capture.packet_text.tls_decryption import decrypt_tls
    from ...capture.packets.decryption_secrets import has_tls_keys

    if not has_tls_keys(path):
        return
    try:
        dump = Dump(*decrypt_tls(str(path)), file=file)
    except DumpError as error:
        remark(f"{file}: it has keys of TLS, which were not used: {error.problem}")
        return
    yield _Source(file, nullcontext(dump), is_named)


def _is_pcapng(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as stream:  # reading the file itself reports the error
        return stream.read(len(PCAPNG)) == PCAPNG
    return False


def _decrypt_captures(options: argparse.Namespace, keys: str) -> Iterator[_Source]:
    from ...capture.packet_text.tls_decryption import decrypt_tls

    others = (getattr(options, name, None) for name in ("recursive", "hex", "follow"))
    if "-" in options.files or any(other not in (None, False) for other in others):
        raise UsageError("--keylog takes captures by name: it cannot be combined with -, -r, --hex and --follow")
    for file in options.files:
        yield _Source(file, nullcontext(Dump(*decrypt_tls(file, keys), file=file)), False)
