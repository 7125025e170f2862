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
from ..frames.pairing import UNANSWERED, expects_response
from ..frames.said import Ends, Said
from ..frames.talk import API_VERSIONS, ENVELOPE, SASL_AUTHENTICATE, SASL_HANDSHAKE, Talk
from ..gist import software_of
from ..headers import header_version_for
from ..redaction.carriers import may_carry, may_hold_secrets
from ..redaction.metadata import MESSAGES
from ..redaction.sealing import seal_message
from .style import escape

SECOND = 1_000_000_000
CLIENT = 12  # where the client id of a request begins, with its length
MOST_HELD = 8 << 20  # bytes and characters of the newest texts; as much of older ones is held
LONGEST = 1 << 18
EACH = 256  # what an entry counts beyond its bytes and characters
READ = MESSAGES | UNANSWERED.keys() | {"ApiVersionsRequest"}
CAREFULLY = frozenset((SASL_HANDSHAKE, SASL_AUTHENTICATE, ENVELOPE))
TAGGED = {0: False, 1: True}  # header versions; those of requests are one higher
REFUSED, IN_VERSION_0 = b"\x00\x23", 1 << 40  # KIP-511: the answer to ApiVersions may be in version 0
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
        self._plans: tuple[dict[int, _Plan | None], ...] = {}, {}
        self._speakers: dict[int, _Speaker] = {}
        self._held = _Held()
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
        plan = self._plans[True].get(api) or self._plan(api, True)
        if plan is None or not (data.startswith(speaker.client, CLIENT) or speaker.learn(data)):
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
        if api >> 16 == API_VERSIONS and data.startswith(REFUSED, 8):
            api |= IN_VERSION_0
        plan = self._plans[False].get(api) or self._plan(api, False)
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

    def _plan(self, api: int, asked: bool) -> _Plan | None:
        """Return how an api and version are told; None if never here."""
        plans = self._plans[asked]
        key, version = api >> 16 & 0xFFFF, api & 0xFFFF
        spec = self.catalog.find(key, "request" if asked else "response", version)
        if spec is None or key in CAREFULLY or api in plans:
            return None
        header = header_version_for(spec, version)
        tagged = None if header is None else TAGGED.get(header - asked)
        codec = codec_in(self.catalog, spec.name, 0 if api & IN_VERSION_0 else version)
        plans[api] = None if tagged is None else _Plan(codec, version, tagged, self.sealed and may_carry(codec))
        return plans[api]


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
        self.client_text, self.start = "", CLIENT

    def learn(self, data: bytes) -> bool:
        """Read another client id; False if it must be read carefully."""
        length = int.from_bytes(data[CLIENT : CLIENT + 2], "big", signed=True)
        stop = CLIENT + 2 + max(length, 0)
        try:
            client = data[CLIENT + 2 : stop].decode() if length >= 0 else None
        except UnicodeDecodeError:
            return False
        if length < -1 or stop > len(data):
            return False
        self.client, self.start = data[CLIENT:stop], stop
        self.client_id, self.client_text = client, f',"clientId":{_text(client)}}},"payload":'
        return True


class _Plan:
    """How the frames of an api and version are told in one direction.

    Attributes:
        tagged: whether their headers have tags; `carries` whether their bodies may hold secrets.
        is_read: whether what is in a message decides how it is written, or what follows it.
        newer, older: texts by the bodies they are of.
    """

    __slots__ = ("carries", "codec", "head", "is_read", "key", "newer", "older", "tagged", "tail", "version")

    def __init__(self, codec: Codec, version: int, tagged: bool, carries: bool) -> None:
        self.codec, self.tagged, self.carries = codec, tagged, carries
        self.is_read = carries or codec.name in READ
        self.key, self.version = codec.spec.api_key, version
        self.tail = ("}" if codec.version == version else f'}},"payloadVersion":{codec.version}') + ',"payload":'
        name = f'"apiName":{_text(codec.spec.api_name)},"apiVersion":{self.version}'
        self.head = f'{self.key},{name},"correlationId":'
        self.newer: dict[bytes, Told] = {}
        self.older: dict[bytes, Told] = {}


class _Held:
    """Counts what all plans hold: when the newest are as many as may be they are the older ones, which are dropped."""

    def __init__(self) -> None:
        self.size = 0
        self.plans: set[_Plan] = set()

    def recall(self, plan: _Plan, body: bytes) -> Told | None:
        """Return what an older body is told as, which is new again."""
        told = plan.older.get(body)
        if told is not None:
            self.hold(plan, body, told)
        return told

    def hold(self, plan: _Plan, body: bytes, told: Told) -> None:
        size = len(body) + len(told[0]) + EACH
        if size > LONGEST:
            return
        self.size += size
        if self.size > MOST_HELD:
            for one in self.plans:
                one.older, one.newer = one.newer, {}
            self.size = size
        self.plans.add(plan)
        plan.newer[body] = told


def _text(value: str | None) -> str:
    return escape(msgspec.json.encode(value).decode())
