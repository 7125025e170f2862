"""The one place that opens files for output: never an input, and nothing half written stays."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from ..errors import DumpError
from .inputs import files_of

IN_MEMORY = 1 << 24  # bytes of an unfinished page


def refuse_input(file: str | Path, inputs: Iterable[str], *, recursive: bool = False) -> None:
    """Raise DumpError if an output is one of the inputs, also by another name: a symbolic link, a hard link, `<`.

    Args:
        file: where to write.
        inputs: files; `-` is standard input.
        recursive: whether files in folders are read too.
    """
    try:
        found = Path(file).stat()
        if not Path(file).is_file():  # /dev/stdout, a pipe
            return
    except OSError:
        return  # it is not there
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
    """Open an output; standard output where no file, or `-`, is named.

    A file that was begun and not finished does not stay, and one that was there stays then as it was; but for one that
    is written `live`, to be read meanwhile.

    Args:
        file: where to write.
        inputs, recursive: as of `refuse_input`.
        live: write the file itself from the beginning.

    Raises:
        DumpError: the file is an input.
        OSError: it cannot be written; with the name that was given.
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
    """Give a function that writes UTF-8 text to an output, as `output_bytes` opens it; all of it or nothing."""
    with output_bytes(file, inputs, recursive=recursive) as stream:
        if stream is not sys.stdout.buffer:
            yield lambda text: stream.write(text.encode())
            return
        with SpooledTemporaryFile(IN_MEMORY) as page:
            yield lambda text: page.write(text.encode())
            page.seek(0)
            shutil.copyfileobj(page, stream)
