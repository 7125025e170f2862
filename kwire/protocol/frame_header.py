"""What the header of a frame says, together with the connection it came on. Values only."""

from __future__ import annotations

from typing import Any

import msgspec

from ..codecs import Codec, codec_in
from ..spec.catalog import catalog_for
from ..wire import Reader
from .api_registry import Call

CLIENT_ID, SHORTEST = 12, 14  # where the length of the client id stands, and the least size of a request that has one


class Header(msgspec.Struct, frozen=True, gc=False):
    """What the header of a frame says, together with the connection it came on.

    Attributes:
        is_request: True from the client, False from the broker, None where nothing tells it.
        call: its api, version and client id; of a response those of its request. None if they are not known.
        correlation_id: None where there is none.
        time: as it was given to `Connection.receive`.
        request: of a response, the header of the request that it answers.
        problem: empty for a request, and for a response whose request is known; else `token` (SASL, without a header),
            `unpaired` (a response to no request in flight), `unknown` (neither a request of a known api nor a
            response; its `call` is there if there is a client id) or `fragment` (no whole frame).
        overtaken: of a response, the requests in flight before its own, which will have no answer.
        decoded: of a request, its header as a message, where a `FrameDecoder` has decoded it.
    """

    is_request: bool | None
    call: Call | None
    correlation_id: int | None
    time: Any = None
    request: Header | None = None
    problem: str = ""
    overtaken: tuple[Header, ...] = ()
    decoded: Any = None

    @property
    def api_key(self) -> int | None:
        """The api key; None if it is not known."""
        return None if self.call is None else self.call.api.key

    @property
    def api_version(self) -> int | None:
        """The version of the body: of an ApiVersions response it may be 0, whatever was asked for (KIP-511)."""
        return None if self.call is None else self.call.version

    @property
    def client_id(self) -> str | None:
        """The client id of the request; None if it is null or not known."""
        return None if self.call is None else self.call.client_id

    @property
    def codec(self) -> Codec | None:
        """The codec of the body; None if the api is not known."""
        if self.call is None or self.call.api.key is None:
            return None
        return self.call.codec(self.is_request)

    @property
    def message(self) -> Any:
        """The header of a request as a message: the one that was decoded, else one that says the same without tags."""
        if self.decoded is not None or self.call is None:
            return self.decoded
        header: Any = codec_in(catalog_for(), "RequestHeader", 2).message_class
        return header(
            request_api_key=self.api_key,
            request_api_version=self.api_version,
            correlation_id=self.correlation_id,
            client_id=self.client_id,
        )

    def answer(self, time: Any) -> Header:
        """Return the header of the response to this request, of which nothing more is to be said."""
        return Header(False, self.call, self.correlation_id, time, self, self.problem)

    def body_start(self, data: bytes) -> int:
        """Return where the body of the frame begins, in bytes from its size field.

        Args:
            data: the frame that has this header.

        Raises:
            DecodeError: the tags of the header do not decode.
            ValueError: nothing tells what the frame is.
        """
        if self.call is None or self.codec is None:
            raise ValueError(f"a frame without a known api has no body: {self.problem or self}")
        api = self.call.api
        version = api.request_header if self.is_request else api.response_header
        if version is None:
            return 4
        start, flexible = (self.call.start, version == 2) if self.is_request else (8, version == 1)
        if not flexible or data[start : start + 1] == b"\0":
            return start + flexible
        reader: Reader = Reader(data, 4, salvage=True)
        codec_in(api.catalog, "RequestHeader" if self.is_request else "ResponseHeader", version).read(reader)
        return reader.pos


def client_in(data: bytes) -> bytes | None:
    """Return the client id of a request as it stands in the header; None if it does not fit in.

    Any negative length is null, as Kafka reads it.
    """
    length = int.from_bytes(data[CLIENT_ID:SHORTEST], "big", signed=True)
    stop = SHORTEST + max(length, 0)
    return None if len(data) < stop else data[CLIENT_ID:stop]
