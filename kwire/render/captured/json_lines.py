"""Writes the JSON lines of one capture."""

from __future__ import annotations

import msgspec

from ...codecs.fast_path import table_of
from ...codecs.message_codec import Codec
from ...protocol import FrameDecoder, Result
from ...protocol.connections.decoded_connection import DecodedConnection
from ...protocol.frame_kinds import FrameKind, FrameKinds, decode_clean
from ...protocol.frames.captured_frame import SECOND, CapturedFrame, Endpoints, make_frame
from ...protocol.headers.apis import Call
from ...protocol.headers.header import Header
from ...protocol.message_summary import MessageSummary, carries_metadata_log, has_topic_ids, make_body_facts
from ...query.captured_query import CapturedQuery
from ...redact.masking import mask_message
from ...redact.metadata_log_secrets import METADATA_LOG
from ...redact.secret_messages import may_carry, may_hold_secrets
from ..escaping import compact_json, escape
from ..json_objects.topic_names_json import names_text
from ..response_link import link_of
from .line_writer import CaptureWriterBase

Tails = tuple[bytes, bytes, str, str]


class JsonLines(CaptureWriterBase):
    """Writes the JSON lines of one capture.

    Args:
        decoder, file, sealed, selection: the same as for `CaptureWriterBase`.
        summary: knows the names of topic ids.
    """

    def __init__(
        self,
        decoder: FrameDecoder,
        file: str,
        *,
        sealed: bool = True,
        selection: CapturedQuery | None = None,
        summary: MessageSummary | None = None,
    ) -> None:
        self.summary: MessageSummary = summary or MessageSummary()
        self._kinds = FrameKinds(self._kind)
        super().__init__(decoder, file, self._kinds, sealed=sealed, selection=selection)
        start = f'"source":{{"file":{compact_json(file)},"frame":'
        self._heads = tuple(f'{{"kwire":1,"type":"{kind}",{start}' for kind in ("response", "request"))
        self.heads: tuple[bytes, ...] = tuple(head.encode() for head in self._heads)  # for batches

    def begin(self, ends: Endpoints) -> DecodedConnection:
        """Return the connection with the given endpoints."""
        connection = self.decoder.connections.of(ends)
        if connection.note is None:
            _json_tails(connection, ends)
        return connection

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame, given its number in the capture; or its result, if it had to be decoded."""
        ends, is_request, now = captured.ends, captured.is_request, captured.nanoseconds
        connection = self.decoder.connections.of(ends)
        header, kind, body = self._kinds.take(connection, captured, number)
        text = None if kind is None or now is None or now < SECOND else self.body_text(kind, body)
        if kind is None or text is None or now is None:
            return self.decoder.result(make_frame(captured, self.file, number), connection, header, SECOND)
        if is_request and header.call is not connection.call:
            self.meet(connection, kind, body)
        tails = (connection.note or _json_tails(connection, ends))[2:]
        time, correlation_id = repr(now / SECOND), captured.second if is_request else captured.first
        position = f'{number},"offset":{captured.offset},"time":{time}{"" if is_request else _json_link(header, now)}'
        head = f"{self._heads[is_request]}{position}{tails[is_request]}{kind.head}{correlation_id}"
        return head + kind.tail + text + "}\n"

    def _kind(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> _JsonKind | None:
        carries = self.sealed and may_carry(codec)
        if (carries or (self.sealed and not is_request)) and not str(call.client_id).isprintable():
            return None  # it may contain bytes of a secret
        return _JsonKind(call, is_request, codec, tagged, carries or (self.sealed and carries_metadata_log(codec)))

    def body_text(self, kind: _JsonKind, body: bytes) -> str | None:
        """Return a body as JSON text with its secrets masked, and the member after it with the names of topic ids; None
        if the codec cannot write the text.
        """
        codec = kind.codec
        message = decode_clean(codec, body) if kind.may_hold_secrets or kind.has_topic_ids else None
        if message is not None and kind.may_hold_secrets and may_hold_secrets(codec, message):
            text: str | None = msgspec.json.encode(codec.jsonable(mask_message(codec, message))).decode()
        else:
            text = codec.json_text(body)
        if text is None or message is None or not kind.has_topic_ids:
            return None if text is None else escape(text)
        return escape(text) + names_text(self.summary.named_ids(codec, message))


class _JsonKind(FrameKind):
    """The common parts of the lines of requests or responses: the text before and after the correlation id."""

    __slots__ = ("has_topic_ids", "head", "may_hold_secrets", "tail")

    def __init__(self, call: Call, is_request: bool, codec: Codec, tagged: bool, may_hold_secrets: bool) -> None:
        super().__init__(call, is_request, codec, tagged)
        self.may_hold_secrets: bool = may_hold_secrets
        api = call.api
        self.head: str = (
            f'{api.key},"apiName":{compact_json(codec.spec.api_name)},"apiVersion":{api.version},"correlationId":'
        )
        client_id = call.client_id if call.client else ""  # a header of version 0 has none: the field's default
        version = f',"payloadVersion":{codec.version}' if codec.version != api.version and not is_request else ""
        self.tail: str = f',"clientId":{compact_json(client_id)}}}{version},"payload":'
        self.front, self.back = self.head.encode(), self.tail.encode()
        self.has_topic_ids: bool = has_topic_ids(codec)
        if not (may_hold_secrets and may_carry(codec)) and (may_hold_secrets or self.has_topic_ids):
            self.facts = make_body_facts(codec, METADATA_LOG if may_hold_secrets else frozenset())
        is_plain = not may_hold_secrets and not self.has_topic_ids
        self.table = table_of(codec) if is_plain or self.facts is not None else None


def _json_link(header: Header, now: int) -> str:
    """Return the members of a response's source about its request."""
    latency, number = link_of(header, now)
    frame = "" if number is None else f',"requestFrame":{number}'
    return frame if latency is None else f',"latencySeconds":{msgspec.json.encode(latency).decode()}{frame}'


def _json_tails(connection: DecodedConnection, ends: Endpoints) -> Tails:
    """Store the part of `source` that follows the time with a connection, as bytes and as text."""
    start = f',"client":{compact_json(ends.client)},"broker":{compact_json(ends.broker)},"connection":{ends.connection}'
    response, request = (f'{start},"direction":"{word}"}},"header":{{"apiKey":' for word in ("response", "request"))
    tails = connection.note = response.encode(), request.encode(), response, request
    return tails
