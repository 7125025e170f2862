"""Events about partitions and brokers, from messages, records of the metadata log and znodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ...former_names import find_name  # pickles of b6d4b524 name classes of a module `kwire.cluster.events`

        if name.islower():  # a module of this package, which is about to be imported
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return find_name(__name__, name)
