"""ZooKeeper as a value: a tree of nodes with versions, ephemeral and sequential ones, and who is told of changes.

Holds bytes, as ZooKeeper does; knows nothing of what Kafka writes there. Every change is one step that all see.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Znode:
    """A node: its data, how often they changed, the transaction that made it and the session it dies with."""

    data: bytes
    version: int
    czxid: int
    owner: int | None = None


class Ensemble:
    """The nodes of a ZooKeeper ensemble. A parent need not exist: a path is only a name here.

    >>> zk = Ensemble()
    >>> zk.create("/log_dir_event_notification/log_dir_event_", b"{}", sequential=True)
    '/log_dir_event_notification/log_dir_event_0000000000'
    >>> zk.children("/log_dir_event_notification"), zk.changes
    (['log_dir_event_0000000000'], ['/log_dir_event_notification/log_dir_event_0000000000'])
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Znode] = {}
        self.changes: list[str] = []
        self.zxid = 0
        self._numbers: dict[str, int] = {}

    def create(self, path: str, data: bytes = b"", *, owner: int | None = None, sequential: bool = False) -> str | None:
        """Create a node; returns its path, or None if it exists. A sequential one gets a number behind its name."""
        if sequential:
            number = self._numbers.get(path, 0)
            self._numbers[path] = number + 1
            path = f"{path}{number:010}"
        if path in self.nodes:
            return None
        self.zxid += 1
        self.nodes[path] = Znode(data, 0, self.zxid, owner)
        self.changes.append(path)
        return path

    def set(self, path: str, data: bytes, version: int | None = None) -> int | None:
        """Write a node, if it still has the version told; returns its new version, or None if it has not."""
        node = self.nodes.get(path)
        if node is None or (version is not None and node.version != version):
            return None
        self.zxid += 1
        node.data, node.version = data, node.version + 1
        self.changes.append(path)
        return node.version

    def get(self, path: str) -> Znode | None:
        """Return a node."""
        return self.nodes.get(path)

    def children(self, path: str) -> list[str]:
        """Return the names below a path, sorted."""
        start = f"{path}/"
        return sorted({node[len(start) :].split("/")[0] for node in self.nodes if node.startswith(start)})

    def delete(self, path: str) -> None:
        """Delete a node and what is below it; one that is not there is no error."""
        for node in [node for node in self.nodes if node == path or node.startswith(f"{path}/")]:
            self.zxid += 1
            del self.nodes[node]
            self.changes.append(node)

    def end_session(self, owner: int) -> None:
        """Delete what a session owns."""
        for path in [path for path, node in self.nodes.items() if node.owner == owner]:
            self.delete(path)

    def take_changes(self) -> list[str]:
        """Return the paths that changed since this was last asked."""
        changes, self.changes = self.changes, []
        return changes
