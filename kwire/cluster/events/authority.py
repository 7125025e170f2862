"""How much a report about a partition counts: by whom it was made."""

from __future__ import annotations

from enum import IntEnum


class Authority(IntEnum):
    """The authority of a source; if epochs are equal, the source with the higher authority is accepted.

    A broker's response to a client may be outdated, and so may the broker itself. A controller makes decisions; the
    metadata log and ZooKeeper store them.
    """

    CLIENT = 0
    BROKER = 1
    CONTROLLER = 2
    RECORD = 3
