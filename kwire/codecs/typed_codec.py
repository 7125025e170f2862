"""`kwire.codec`, as type checkers see it: the stub beside this file has an overload for each message."""

from .message_codec import codec

__all__ = ["codec"]
