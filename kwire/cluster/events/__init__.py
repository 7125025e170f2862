"""Events about partitions and brokers, from messages, records of the metadata log and znodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ...runtime.former_names import (
            find_name,  # pickles of b6d4b524 name classes of a module `kwire.cluster.events`
        )

        return find_name(__name__, name)
