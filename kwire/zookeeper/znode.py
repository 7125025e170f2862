"""The content of a znode at a point in time."""

from __future__ import annotations

from typing import NamedTuple


class Znode(NamedTuple):
    """The content of a znode at a point in time.

    Attributes:
        path: the path of the node, with the cluster's prefix (chroot).
        data: None for a node that was deleted.
        version: the data version; -1 if unknown.
        zxid: the transaction that last changed it; -1 if unknown.
        time: the time of this content, in seconds since 1970; None if unknown.
        children: the names of its children, if they were listed; `data` is then meaningless.
        file: the file from which it was read.
    """

    path: str
    data: bytes | None
    version: int = -1
    zxid: int = -1
    time: float | None = None
    children: tuple[str, ...] | None = None
    file: str = ""
