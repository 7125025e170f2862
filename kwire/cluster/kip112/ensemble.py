"""ZooKeeper as a value: znodes with versions, and watches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class StoredZnode:
    """A node: its data, its version, the transaction that created it, and the session that owns it."""

    data: bytes
    version: int
    czxid: int
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class ZnodeWrite:
    """A write to a node: `create`, `set` or `delete`; a deletion has no data."""

    operation: str
    path: str
    data: bytes
    version: int


class Ensemble:
    """The nodes of a ZooKeeper ensemble. A parent need not exist: a path is only a name here.

    >>> zk = Ensemble()
    >>> zk.create("/log_dir_event_notification/log_dir_event_", b"{}", sequential=True)
    '/log_dir_event_notification/log_dir_event_0000000000'
    >>> zk.children("/log_dir_event_notification"), zk.changes
    (['log_dir_event_0000000000'], ['/log_dir_event_notification/log_dir_event_0000000000'])
    """

    def __init__(self) -> None:
        self.observe: Callable[[ZnodeWrite], None] = _ignore_write
        self.nodes: dict[str, StoredZnode] = {}
        self.changes: list[str] = []
        self.zxid: int = 0
        self._numbers: dict[str, int] = {}

    def create(self, path: str, data: bytes = b"", *, owner: int | None = None, sequential: bool = False) -> str | None:
        """Create a node; return its path, or None if it exists. A sequential node gets a number after its name."""
        if sequential:
            number = self._numbers.get(path, 0)
            self._numbers[path] = number + 1
            path = f"{path}{number:010}"
        if path in self.nodes:
            return None
        self.zxid += 1
        self.nodes[path] = StoredZnode(data, 0, self.zxid, owner)
        self.changes.append(path)
        self.observe(ZnodeWrite("create", path, data, 0))
        return path

    def set(self, path: str, data: bytes, version: int | None = None) -> int | None:
        """Write a node if it still has this version; return its new version, or None if the version differs."""
        node = self.nodes.get(path)
        if node is None or (version is not None and node.version != version):
            return None
        self.zxid += 1
        node.data = data
        node.version += 1
        self.changes.append(path)
        self.observe(ZnodeWrite("set", path, data, node.version))
        return node.version

    def get(self, path: str) -> StoredZnode | None:
        """Return a node."""
        return self.nodes.get(path)

    def children(self, path: str) -> list[str]:
        """Return the names below a path, sorted."""
        start = f"{path}/"
        return sorted({node[len(start) :].split("/")[0] for node in self.nodes if node.startswith(start)})

    def delete(self, path: str) -> None:
        """Delete a node and its descendants; a missing node is not an error."""
        for node in [node for node in self.nodes if node == path or node.startswith(f"{path}/")]:
            self.zxid += 1
            gone = self.nodes.pop(node)
            self.changes.append(node)
            self.observe(ZnodeWrite("delete", node, b"", gone.version))

    def end_session(self, owner: int) -> None:
        """Delete the nodes of a session."""
        for path in [path for path, node in self.nodes.items() if node.owner == owner]:
            self.delete(path)

    def take_changes(self) -> list[str]:
        """Return the paths that changed since the last call."""
        changes = self.changes
        self.changes = []
        return changes


def _ignore_write(write: ZnodeWrite) -> None:
    """Ignore a write."""
