"""A cluster whose time is that of a recording. Sans-IO: nothing listens, and no clock is read."""

from __future__ import annotations

from ...broker.server.server_state import CHECKS
from ...broker.server.socket_server import SocketServer
from .recording import Recording

MOST_CHECKS = 1000  # of log directories, however long nothing was asked


class ReplayServer(SocketServer):
    """The brokers of a recording, in memory, with the recorded ports and time.

    Args:
        recording: what was recorded.
        began: the time at which the replay begins, in seconds since 1970.

    Attributes:
        members: the members of groups that are connected.
    """

    def __init__(self, recording: Recording, began: float) -> None:
        nodes = recording.options.nodes()
        for node in nodes:
            node.port = recording.ports.get(node.node_id, 0)
        self._began = began
        self._elapsed = 0.0
        self._checked = 0.0
        self.members: frozenset[str] = frozenset()
        super().__init__(recording.options.cluster(nodes), lambda text: None)

    def now(self) -> float:
        """Return the time of the cluster's clock, in seconds since the replay began."""
        return self._elapsed + self._skew

    def wall_ms(self) -> int:
        """Return the time of day by the cluster's clock, in milliseconds since 1970."""
        return round((self._began + self.now()) * 1000)

    def connected_members(self) -> set[str]:
        """Return the ids of group members with an open connection."""
        return set(self.members)

    async def resume(self, node_id: int) -> None:
        """Restart a stopped broker."""
        self.cluster.start(node_id)
        self.settle()

    def move_to(self, time: float) -> None:
        """Let time pass, deadline by deadline, to a time in seconds since 1970."""
        end = time - self._began - self._skew
        pause = max(CHECKS, (end - self._elapsed) / MOST_CHECKS)
        while True:
            deadline = self.cluster.next_deadline
            due = self._checked + pause if deadline is None else min(deadline - self._skew, self._checked + pause)
            if due > end:
                break
            self._elapsed = max(self._elapsed, due)
            if self._elapsed >= self._checked + pause:
                self._checked = self._elapsed
                self.cluster.check()
            self.cluster.tick(self.now())
            self.settle()
        self._elapsed = max(self._elapsed, end)
        self.cluster.tick(self.now())
        self.settle()
