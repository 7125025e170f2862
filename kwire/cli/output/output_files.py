"""Output files: never an input, and never incomplete; an existing file is replaced only by a complete one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from ...errors import DumpError
from ..input.files import files_of
from ..terminal.escaped_output import TerminalBytes

IN_MEMORY = 1 << 24  # bytes of an unfinished page


def refuse_input(file: str | Path, inputs: Iterable[str], *, recursive: bool = False) -> None:
    """Raise DumpError if an output is one of the inputs, even under another name: a symbolic link, a hard link, `<`.

    Args:
        file: where to write.
        inputs: files; `-` is standard input.
        recursive: whether files in folders are inputs too.
    """
    try:
        status = Path(file).stat()
        if not Path(file).is_file():  # /dev/stdout, a pipe
            return
    except OSError:
        return  # the output does not exist yet
    for name, _ in files_of(list(inputs), recursive):
        try:
            read = os.fstat(sys.stdin.fileno()) if name == "-" else Path(name).stat()
        except (OSError, ValueError, AttributeError):
            continue
        if os.path.samestat(status, read):
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
