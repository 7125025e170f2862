"""JSON lines of captured frames, made from bytes without building frames and messages.

Only of what nearly all frames are; the rest is decoded. The lines are those of `json_frame.json_line`.
"""

from __future__ import annotations

import msgspec

from ..codecs import Codec
from ..protocol import FrameDecoder, Result
from ..protocol.api_registry import Call
from ..protocol.body_cache import Bodies, Kind, Repeats, decode_clean
from ..protocol.captured_frame import SECOND, CapturedFrame, Endpoints, frame_of
from ..protocol.header_reader import DecodedConnection
from ..redaction.masking import mask_message
from ..redaction.rules import MESSAGES, may_carry, may_hold_secrets
from .style import escape


class JsonLines:
    """Writes the lines of one capture.

    Args:
        decoder: decodes what is left to it; the connections are its own.
        file: the name of the capture.
        sealed: leave secrets out.
    """

    def __init__(self, decoder: FrameDecoder, file: str, *, sealed: bool = True) -> None:
        self.decoder: FrameDecoder = decoder
        self.file: str = file
        self.sealed: bool = sealed
        start = f'"source":{{"file":{_text(file)},"frame":'
        self._heads = tuple(f'{{"kwire":1,"type":"{kind}",{start}' for kind in ("response", "request"))
        self._repeats = Repeats(self._kind, self._read, len)

    def line(self, captured: CapturedFrame, number: int) -> str | Result:
        """Return the line of a frame, given its number in the capture; or what it was decoded to, if it had to be."""
        ends, asked, offset, now, _, _, first, second = captured
        connection = self.decoder.connections.of(ends)
        header, kind, text = self._repeats.take(connection, captured)
        if kind is None or text is None or now is None or now < SECOND:
            return self.decoder.result(frame_of(captured, self.file, number), connection, header, SECOND)
        tails = connection.note or _tails(connection, ends)
        time, correlation_id = repr(now / SECOND), second if asked else first
        head = f'{self._heads[asked]}{number},"offset":{offset},"time":{time}{tails[asked]}{kind.head}{correlation_id}'
        return head + kind.tail + text

    def _kind(self, call: Call, is_request: bool, codec: Codec, bodies: Bodies, tagged: bool) -> _Kind | None:
        carries = self.sealed and may_carry(codec)
        if carries and is_request and not str(call.client_id).isprintable():
            return None  # it may be read out of a secret
        return _Kind(call, is_request, codec, bodies, tagged, carries or (self.sealed and codec.name in MESSAGES))

    def _read(self, kind: _Kind, body: bytes) -> str | None:
        """Return the text of a body, without the secrets in it."""
        codec = kind.codec
        message = decode_clean(codec, body) if kind.may_hold_secrets else None
        if message is not None and may_hold_secrets(codec, message):
            text: str | None = msgspec.json.encode(codec.jsonable(mask_message(codec, message))).decode()
        else:
            text = codec.json_text(body)
        return None if text is None else escape(text) + "}\n"


class _Kind(Kind):
    """What the lines of requests or responses have in common: the text in front of the correlation id and behind it."""

    __slots__ = ("head", "may_hold_secrets", "tail")

    def __init__(
        self, call: Call, is_request: bool, codec: Codec, bodies: Bodies, tagged: bool, may_hold_secrets: bool
    ) -> None:
        super().__init__(call, is_request, codec, bodies, tagged)
        self.may_hold_secrets = may_hold_secrets
        api = call.api
        self.head = f'{api.key},"apiName":{_text(codec.spec.api_name)},"apiVersion":{api.version},"correlationId":'
        of_request = f',"clientId":{_text(call.client_id)}}}'
        of_response = "}" if codec.version == api.version else f'}},"payloadVersion":{codec.version}'
        self.tail = (of_request if is_request else of_response) + ',"payload":'


def _tails(connection: DecodedConnection, ends: Endpoints) -> tuple[str, str]:
    """Note with a connection how the source of its responses and requests goes on behind the time."""
    start = f',"client":{_text(ends.client)},"broker":{_text(ends.broker)},"connection":{ends.connection}'
    response, request = (f'{start},"direction":"{word}"}},"header":{{"apiKey":' for word in ("response", "request"))
    connection.note = response, request
    return response, request


def _text(value: str | None) -> str:
    return escape(msgspec.json.encode(value).decode())
