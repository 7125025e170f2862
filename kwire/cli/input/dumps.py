"""Opens the inputs that the options name, one after the other, with remarks about each on stderr."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

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
                refuse_inapplicable(dump if dump.file else replace(dump, file=file), options)
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
    frames, divide = _named_in_errors(dump.frames, file), _around(dump.divide, _named_in_errors, file)
    return replace(dump, frames=frames, captured=captured, batches=batches, disk=disk, divide=divide)


def _around(divide: Divide | None, around: Callable[..., Iterator[CaptureRange]], file: str) -> Divide | None:
    """Return a function whose ranges are passed through another one."""
    return None if divide is None else lambda consumer, size: around(divide(consumer, size), file)


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
        if not bare and not share.part:
            yield from _decrypted_inside(file, found)
        yield file, open_dump(file, bare=bare, catalog=catalog, topic=topic, share=share, zookeeper=zookeeper), found


def _decrypted_inside(file: str, found: bool) -> Iterator[tuple[str, AbstractContextManager[Dump], bool]]:
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
    yield file, nullcontext(dump), found


def _is_pcapng(path: Path) -> bool:
    with suppress(OSError), path.open("rb") as stream:  # reading the file itself reports the error
        return stream.read(len(PCAPNG)) == PCAPNG
    return False


def _decrypted(options: argparse.Namespace, keys: str) -> Iterator[tuple[str, AbstractContextManager[Dump], bool]]:
    from ...capture.packet_text.tls_decryption import decrypt_tls

    others = (getattr(options, name, None) for name in ("recursive", "hex", "follow"))
    if "-" in options.files or any(other not in (None, False) for other in others):
        raise UsageError("--keylog takes captures by name: it cannot be combined with -, -r, --hex and --follow")
    for file in options.files:
        yield file, nullcontext(Dump(*decrypt_tls(file, keys), file=file)), False
