"""Errors about frames: sizes, unknown apis and versions, responses that answer no request."""

from __future__ import annotations

from typing import Any

from .decode_errors import DecodeError


class BadFrame(DecodeError):
    """An invalid size field of a frame."""

    problem = "a frame of {found} bytes; sizes from {need} to {have} are read"
    hint = "the input may not be frames, or begin in the middle of one"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The code, which distinguishes frames above the size limit from impossible sizes."""
        return "OVERSIZE" if (self.found or 0) > (self.have or 0) else "BAD_SIZE"


class BytesAfterFrame(BadFrame):
    """Bytes after a frame where one frame is needed: `found` is its size field, `behind` says what follows."""

    problem = "{behind}"
    hint = "split the bytes: kwire.FrameReader().feed(data)"

    def __init__(self, *, behind: str = "bytes follow the frame", **facts: Any) -> None:
        super().__init__(behind=behind, **facts)


class UnknownApi(DecodeError):
    """An api key that is not in the catalog."""

    problem = "api key {found} is not known"
    code = "UNSUPPORTED_API"
    hint = "the key may belong to a profile or to a vendor's specs"


class UnknownVersion(DecodeError):
    """A version that the message does not have."""

    quotes = False
    problem = "{found[0]} has no version {found[1]}; versions: {found[2]}"
    code = "UNSUPPORTED_VERSION"
    hint = "a newer broker or client; or these bytes are not a Kafka frame"


class UnexpectedResponse(DecodeError):
    """A response that matches no request in flight; `need` is the correlation id of the oldest request in flight."""

    problem = "no request with correlation id {found} is in flight"
    code = "NO_REQUEST"
    hint = "name what it answers: --as Metadata:12"
