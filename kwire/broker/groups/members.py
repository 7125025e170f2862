"""A member of a group: what it said of itself, what it waits for, and how long it may be silent."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ..waiting import Parked
from .held import LEAST_SIZE

PROTOCOL_SIZE = 128  # bytes that a protocol of a member takes besides its name and metadata

Protocols = tuple[tuple[str, bytes], ...]


@dataclass(slots=True, eq=False)
class Member:
    """A member; times are in seconds.

    Attributes:
        instance_id: of a static member (KIP-345), whose place is kept while it is away.
        protocols: the names it can go by, the one it likes best first, each with its metadata.
        deadline: when it is taken for dead if it says nothing.
        joining, syncing: its request that waits.
        has_synced: whether it asked for its assignment in this generation.
        is_new: whether it waits for its first generation, and may not know its own id yet.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    rebalance_timeout: float
    protocols: Protocols
    assignment: bytes = b""
    deadline: float = inf
    joining: Parked | None = None
    syncing: Parked | None = None
    has_synced: bool = False
    is_new: bool = True
    size: int = 0

    @property
    def can_expire(self) -> bool:
        """Whether silence counts: not of those who wait for an answer, but for the new, who might never hear it."""
        return self.is_new or (self.joining is None and self.syncing is None)

    def metadata(self, protocol: str | None) -> bytes:
        """Return what it says under a protocol."""
        return next((data for name, data in self.protocols if name == protocol), b"")

    def measure(self) -> int:
        """Count the bytes that it takes."""
        names = len(self.member_id) + len(self.instance_id or "") + len(self.client_id)
        protocols = sum(PROTOCOL_SIZE + len(name) + len(data) for name, data in self.protocols)
        return LEAST_SIZE + names + protocols + len(self.assignment)
