"""How far files were read, as a stream keeps it, and whether a file is still the one that was read.

A file is known again by its first bytes and by those before the place that it was read up to.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from .errors import BadOption
from .finding import File

SAMPLE = 1024  # bytes at either end by which a file is known again
VERSION = 1
Offset = dict[str, Any]


class Place(NamedTuple):
    """How far a file was read.

    Attributes:
        stop: in bytes from its start.
        kind: what it was taken for: `raw frames`, a kind of capture, or `whole`: read at once.
        mark: by which it is known again.
        changed: when it last was, in seconds since 1970.
        done: whether it was at its end.
        turn: how often another file has taken its place.
        order: the byte order there, as `struct` writes it: of pcapng, in which it may change. Nothing if nobody knows.
    """

    stop: int = 0
    kind: str = ""
    mark: str = ""
    changed: int = 0
    done: bool = False
    turn: int = 0
    order: str = ""


START = Place()


def offset_of(places: Mapping[str, Place]) -> Offset:
    """Write places down as Spark keeps them; `places_of` reads it."""
    defaults = START._asdict()
    files = {
        path: {name: value for name, value in place._asdict().items() if value != defaults[name]}
        for path, place in sorted(places.items())
    }
    return {"version": VERSION, "files": files}


def places_of(offset: Offset) -> dict[str, Place]:
    """Read what `offset_of` wrote.

    Raises:
        BadOption: it is of a later kwire.

    >>> places_of(offset_of({"/in/a": Place(12, "raw frames", "3f", 1700000000)}))
    {'/in/a': Place(stop=12, kind='raw frames', mark='3f', changed=1700000000, done=False, turn=0,
        order='')}
    """
    if offset.get("version") != VERSION:
        raise BadOption("checkpointLocation", None, f"offsets of version {offset.get('version')}", "take a later kwire")
    return {path: Place(**place) for path, place in offset["files"].items()}


def mark_of(path: str, stop: int) -> str:
    """Return by which the first `stop` bytes of a file are known again: a hash of both their ends."""
    with Path(path).open("rb") as stream:
        head = stream.read(min(SAMPLE, stop))
        stream.seek(max(0, stop - SAMPLE))
        tail = stream.read(min(SAMPLE, stop))
    return blake2b(head + tail, digest_size=8).hexdigest()


def difference(file: File, place: Place) -> str | None:
    """Say what speaks against that a file is the one that was read, and may be read on."""
    if file.size < place.stop:
        return f"it has {file.size} bytes now, and {place.stop} were read: it was cut or replaced"
    if place.stop and mark_of(file.path, place.stop) != place.mark:
        return f"its first {place.stop} bytes are not those that were read: it was replaced"
    if place.done and file.size > place.stop:
        return f"it was read up to its end at {place.stop} bytes, and has {file.size} now"
    return None


def difference_now(path: str, place: Place) -> str | None:
    """As `difference`, of a file as it is now; that it is gone is one, too."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return "it is not there any more, and was not read yet"
    return difference(File(path, status.st_size, status.st_mtime_ns), place)
