"""The header of a frame, combined with the state of its connection."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import force_setattr

from ...codecs.message_codec import Codec, codec_in
from ...codecs.wire import Reader
from ...schema.catalog import catalog_for
from .apis import Call

CLIENT_ID_AT = 12  # position of the client id's length
SHORTEST = 14  # minimum size of a request with a client id
FLEXIBLE_HEADERS = {"RequestHeader": 2, "ResponseHeader": 1}  # their versions with tagged fields (KIP-482)


class Header(msgspec.Struct, frozen=True, gc=False):
    """The header of a frame, combined with the state of its connection.

    Attributes:
        is_request: True from the client, False from the broker, None if unknown.
        call: the api, version and client id; for a response, those of its request. None if unknown.
        correlation_id: the correlation id; None if there is none.
        time: the time that was passed to `Connection.receive`.
        request: for a response, the header of the request that it answers.
        problem: empty for a request, and for a response with a known request; else `token` (SASL, without a header),
            `unpaired` (a response that answers no request in flight), `unknown` (neither a request of a known api nor a
            response; `call` is set if there is a client id) or `fragment` (not a complete frame).
        overtaken: for a response, older requests in flight, which will get no response.
        decoded: for a request, its header as a message, if a `FrameDecoder` has decoded it.
        frame: for a request, the number of its frame in the capture, if the reader of frames has set it.
    """

    is_request: bool | None
    call: Call | None
    correlation_id: int | None
    time: Any = None
    request: Header | None = None
    problem: str = ""
    overtaken: tuple[Header, ...] = ()
    decoded: Any = None
    frame: int | None = None

    @property
    def api_key(self) -> int | None:
        """The api key; None if unknown."""
        return None if self.call is None else self.call.api.key

    @property
    def api_version(self) -> int | None:
        """The version of the body. An ApiVersions response may have version 0 for any requested version (KIP-511)."""
        return None if self.call is None else self.call.version

    @property
    def client_id(self) -> str | None:
        """The client id of the request; None if it is null or unknown."""
        return None if self.call is None else self.call.client_id

    @property
    def codec(self) -> Codec | None:
        """The codec of the body; None if the api is unknown."""
        if self.call is None or self.call.api.key is None:
            return None
        return self.call.codec(self.is_request)

    @property
    def message(self) -> Any:
        """The header of a request as a message: the decoded one, or else an equal one without tagged fields."""
        if self.decoded is not None or self.call is None:
            return self.decoded
        header: Any = codec_in(catalog_for(), "RequestHeader", 2).message_class
        return header(
            request_api_key=self.api_key,
            request_api_version=self.api_version,
            correlation_id=self.correlation_id,
            client_id=self.client_id,
        )

    def number(self, frame: int | None) -> None:
        """Set the frame number of the request, to which the response refers."""
        force_setattr(self, "frame", frame)

    def answer(self, time: Any) -> Header:
        """Return the header of a regular response to this request."""
        return Header(False, self.call, self.correlation_id, time, self, self.problem)

    def body_start(self, data: bytes) -> int:
        """Return the position of the body, in bytes from the start of the size field.

        Args:
            data: the frame with this header.

        Raises:
            DecodeError: the tagged fields of the header do not decode.
            ValueError: the type of the frame is unknown.
        """
        if self.call is None or self.codec is None:
            raise ValueError(f"a frame without a known api has no body: {self.problem or self}")
        api = self.call.api
        if self.is_request:
            name = "RequestHeader"
            version = api.request_header
            tags_at = self.call.start
        else:
            name = "ResponseHeader"
            version = api.response_header
            tags_at = 8
        if version is None:
            return 4
        if version != FLEXIBLE_HEADERS[name]:
            return tags_at
        if data[tags_at : tags_at + 1] == b"\0":  # no tagged fields, as nearly always
            return tags_at + 1
        reader: Reader = Reader(data, 4, salvage=True)
        codec_in(api.catalog, name, version).read(reader)
        return reader.pos


def find_client_id(data: bytes) -> bytes | None:
    """Return the client id of a request as raw bytes, including its length; None if it exceeds the frame.

    Any negative length means null, as in Kafka.
    """
    length = int.from_bytes(data[CLIENT_ID_AT:SHORTEST], "big", signed=True)
    stop = SHORTEST + max(length, 0)
    return None if len(data) < stop else data[CLIENT_ID_AT:stop]
