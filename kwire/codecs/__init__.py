"""Codecs: one message at one version, from and to bytes, JSON and columns. `message_codec` is where to start."""

from typing import TYPE_CHECKING, Any

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        from ..runtime.former_names import find_name  # pickles of b6d4b524 name what was in `kwire.codecs`

        if name.islower() and name not in (
            "codec_of",
            "codec_in",
        ):  # a module of this package, which is about to be imported
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return find_name(__name__, name)
