"""JSON lines of what the connections of a capture say, from bytes to text without frames and messages in between.

Only of what nearly all frames are: whole, by the order of things, without secrets and faults. The rest is left to a
`FrameDecoder`, on the same state, so that either may take the next frame; the lines are those of `envelope.json_line`.
Bodies come again in traffic, so their texts are held, bounded by their size.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..catalog import catalog_for
from ..codecs import Codec, codec_in
from ..errors import DecodeError
from ..frames import FrameDecoder
from ..frames.frame_header import CLIENT_ID
from ..frames.pairing import UNANSWERED, expects_response
from ..frames.repeats import Kind, Repeats, answered_api, client_in
from ..frames.said import Ends, Said
from ..frames.talk import API_VERSIONS, Talk
from ..gist import software_of
from ..redaction.carriers import may_carry, may_hold_secrets
from ..redaction.metadata import MESSAGES
from ..redaction.sealing import seal_message
from .style import escape

SECOND = 1_000_000_000
READ = MESSAGES | UNANSWERED.keys() | {"ApiVersionsRequest"}
# The text of a body, whether an answer will come, and what is told of the client's software.
Told = tuple[str, bool, str]


class JsonLines:
    """Writes the lines of one capture.

    Args:
        decoder: decodes what is left to it; the connections are its own.
        file: the name of the capture.
        sealed: leave secrets out.
    """

    def __init__(self, decoder: FrameDecoder, file: str, *, sealed: bool = True) -> None:
        self.decoder, self.catalog, self.sealed = decoder, decoder.catalog, sealed
        start = f'"source":{{"file":{_text(file)},"frame":'
        self._heads = tuple(f'{{"kwire":1,"type":"{kind}",{start}' for kind in ("response", "request"))
        self._held = Repeats(self.catalog, self._plan, lambda told: len(told[0]))
        self._speakers: dict[int, _Speaker] = {}
        self._header: Any = codec_in(catalog_for(), "RequestHeader", 2).message_class

    def forget(self, connection: int) -> None:
        """Take note that a connection has ended."""
        self._speakers.pop(connection, None)
        self.decoder.forget(connection)

    def line(self, said: Said, number: int) -> str | None:
        """Return the line of a frame, given its number in the capture; None if it must be decoded carefully."""
        ends, asked, offset, now, data, fault, first, second = said
        if fault is not None or first is None or now is None or now < SECOND:
            return None
        speaker = self._speakers.get(ends.connection) or self._begin(ends)
        told = self._asked(speaker, data, first, second) if asked else self._answered(speaker, data, first)
        if told is None:
            return None
        head, tail, end = self._heads[asked], speaker.tails[asked], told
        return f'{head}{number},"offset":{offset},"time":{now / SECOND!r}{tail}{end}'

    def _begin(self, ends: Ends) -> _Speaker:
        speaker = self._speakers[ends.connection] = _Speaker(ends, self.decoder.talk_on(ends.connection))
        return speaker

    def _asked(self, speaker: _Speaker, data: bytes, api: int, number: int) -> str | None:
        """Tell a request, from its header on, and take note of it."""
        plan = self._held.kinds[True].get(api) or self._held.kind(api, is_request=True)
        if plan is None or not (data.startswith(speaker.client, CLIENT_ID) or speaker.learn(data)):
            return None
        if plan.carries and not str(speaker.client_id).isprintable():
            return None  # it may be read out of a secret
        start = speaker.start
        if plan.tagged:
            if data[start : start + 1] != b"\0":
                return None
            start += 1
        body = data[start:]
        told = plan.newer.get(body) or self._held.recall(plan, body) or self._tell(plan, body)
        if told is None:
            return None
        text, awaits, software = told
        header = self._header(plan.key, plan.version, number, speaker.client_id)
        speaker.talk.hear(header, plan.key, awaits, software)
        return f"{plan.head}{number}{speaker.client_text}{text}"

    def _answered(self, speaker: _Speaker, data: bytes, number: int) -> str | None:
        """Tell the answer that is awaited next, from its header on, and take note that it has come."""
        waiting = speaker.talk.waiting
        asked = waiting.next
        if asked is None or asked.correlation_id != number:
            return None
        api = asked.request_api_key << 16 | asked.request_api_version
        api = answered_api(api, data)
        plan = self._held.kinds[False].get(api) or self._held.kind(api, is_request=False)
        if plan is None or (plan.tagged and data[8:9] != b"\0"):
            return None
        body = data[9:] if plan.tagged else data[8:]
        told = plan.newer.get(body) or self._held.recall(plan, body) or self._tell(plan, body)
        if told is None:
            return None
        waiting.complete(number)
        return f"{plan.head}{number}{plan.tail}{told[0]}"

    def _tell(self, plan: _Plan, body: bytes) -> Told | None:
        if not plan.is_read:
            text, message = plan.codec.json_text(body), None
        else:
            text, message = self._text(plan, body)
        if text is None:
            return None
        software = software_of(message) if plan.key == API_VERSIONS else ""
        told = escape(text) + "}\n", expects_response(message), software
        self._held.hold(plan, body, told)
        return told

    def _text(self, plan: _Plan, body: bytes) -> tuple[str | None, Any]:
        """Return the text of a body, without the secrets in it, and the message."""
        codec = plan.codec
        try:
            message = codec.decode(body)
        except DecodeError:
            return None, None
        if not (self.sealed and may_hold_secrets(codec, message)):
            return codec.json_text(body), message
        return msgspec.json.encode(codec.jsonable(seal_message(codec, message))).decode(), message

    def _plan(self, codec: Codec, version: int, tagged: bool) -> _Plan:
        return _Plan(codec, version, tagged, self.sealed and may_carry(codec))


class _Speaker:
    """A connection, and the text of what each of its frames says of it.

    Attributes:
        client: the client id of its newest request, with its length, as bytes; `start` is behind it.
        client_id, client_text: the same as text, and as JSON.
    """

    __slots__ = ("client", "client_id", "client_text", "start", "tails", "talk")

    def __init__(self, ends: Ends, talk: Talk) -> None:
        self.talk = talk
        start = f',"client":{_text(ends.client)},"broker":{_text(ends.broker)},"connection":{ends.connection}'
        self.tails = tuple(f'{start},"direction":"{word}"}},"header":{{"apiKey":' for word in ("response", "request"))
        self.client: bytes | tuple[()] = ()  # nothing begins with one of no texts
        self.client_id: str | None = None
        self.client_text, self.start = "", CLIENT_ID

    def learn(self, data: bytes) -> bool:
        """Read another client id; False if it must be read carefully."""
        found = client_in(data)
        if found is None:
            return False
        self.client, self.client_id = found
        self.start = CLIENT_ID + len(self.client)
        self.client_text = f',"clientId":{_text(self.client_id)}}},"payload":'
        return True


class _Plan(Kind):
    """How the frames of an api and version are told in one direction.

    Attributes:
        carries: whether their bodies may hold secrets.
        is_read: whether what is in a message decides how it is written, or what follows it.
    """

    __slots__ = ("carries", "head", "is_read", "tail")

    def __init__(self, codec: Codec, version: int, tagged: bool, carries: bool) -> None:
        super().__init__(codec, version, tagged)
        self.carries = carries
        self.is_read = carries or codec.name in READ
        self.tail = ("}" if codec.version == version else f'}},"payloadVersion":{codec.version}') + ',"payload":'
        name = f'"apiName":{_text(codec.spec.api_name)},"apiVersion":{self.version}'
        self.head = f'{self.key},{name},"correlationId":'


def _text(value: str | None) -> str:
    return escape(msgspec.json.encode(value).decode())
