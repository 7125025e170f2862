"""Reads files with the JSON of znodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ZnodeError
from .files import printable_name
from .open_file import open_unpacked, read_whole

if TYPE_CHECKING:
    from ..zookeeper import Znode

HEAD = 4096  # bytes that show what JSON is of


def read_znodes(path: str | Path) -> list[Znode] | None:
    """Read znodes from a JSON file; None if it contains none.

    Args:
        path: a file, in a form of `kwire.zookeeper.znodes_in`.

    Raises:
        ZnodeError: a line is not a change of a znode. DumpError, OSError: see `open_dump`.
    """
    from ..zookeeper import znodes_in

    text = read_znode_text(path)
    try:
        znodes = None if text is None else znodes_in(text) or []
    except ZnodeError as error:
        error.znode = printable_name(path)  # the line does not name a znode
        raise
    return None if znodes is None else [znode._replace(file=str(path)) for znode in znodes]


def read_znode_text(path: str | Path) -> str | None:
    """Return the text of a file that begins like znodes in JSON; None for other files. Raises the exceptions of
    `open_dump`.
    """
    from ..zookeeper import looks_like_znodes

    with open_unpacked(path) as opened:
        if not looks_like_znodes(opened.head[:HEAD].decode("utf-8", "replace")):
            return None
        return read_whole(opened, str(path)).decode("utf-8", "replace").lstrip()
