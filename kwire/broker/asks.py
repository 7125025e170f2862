"""What a handler is given, and what it may give back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .served import ServedCluster


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: which broker was asked, what, in which version, by whom, at what time (seconds of any clock)."""

    cluster: ServedCluster
    node_id: int
    message: Any
    version: int
    now: float
    client_id: str
    client_host: str
