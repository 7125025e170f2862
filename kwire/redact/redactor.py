"""Rewrites frames without payloads, secrets and names, in the same sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..codecs.field_search import field_locations
from ..codecs.message_codec import Codec
from ..codecs.tracing import Span
from ..errors import UnknownVersion
from ..protocol import Frame, FrameDecoder, Request, Response, Result, Token, Undecodable
from ..protocol.frames.stream_faults import NoFrame
from ..runtime.lazy_patterns import lazy_pattern
from ..schema.catalog import Catalog
from .address_rewriter import AddressRewriter
from .blank_records import FILL, blank_records
from .redaction_rules import NAMES, SEPARATORS, kind_for
from .secret_bytes import is_doubtful, is_request_header

UNREAD = "incomplete or foreign bytes"
SIZE = 4
REQUEST_IDS, RESPONSE_IDS = 14, 8  # bytes of size, api, correlation id; and the length of the client id
_INDEX = lazy_pattern(r"\[\d+\]")
_FILL_TEXT = chr(FILL)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwyz"  # without the padding character
PORTS = (".port", ".v0_port")  # ends of the paths of ports
_OPAQUE = ("unknown tag", "left over", "not understood")


class Redactor:
    """Blanks sensitive data in frames, which are passed in the order of their connections.

    Args:
        keep: the kinds in `REASONS` that are not removed.
        catalog: the specs to use; those of Kafka's releases by default.
        addresses: rewrites IP addresses, and the ports beside them, as it does those of packets; without it, addresses
            get pseudonyms like other names of hosts, and ports stay.

    `counts` has the number of blanked values of each kind, `readings` the number of frames of each reading.

    >>> import kwire
    >>> data = kwire.encode_request(kwire.messages.MetadataRequest(topics=None), 1, client_id="billing")
    >>> Redactor().redact(kwire.Frame(data))[12:21]
    b'\\x00\\x07xxxxxx0'
    """

    def __init__(
        self, keep: Iterable[str] = (), catalog: Catalog | None = None, addresses: AddressRewriter | None = None
    ) -> None:
        self.keep: frozenset[str] = frozenset(keep)
        self.readings: Counter[str] = Counter()
        self._addresses = addresses
        self.counts: Counter[str] = Counter()
        self._decoder = FrameDecoder(catalog, trace=True)
        self._names: dict[bytes, bytes] = {}
        self._counts: Counter[int] = Counter()  # number of names of each length
        self._kinds: dict[tuple[Codec, str, bool], str | None] = {}

    def redact(self, frame: Frame) -> bytes:
        """Return the bytes of a frame without sensitive data; its size stays the same."""
        result = self._decoder.decode(frame)
        self.readings[reading_of(result)] += 1
        out = bytearray(frame.data)
        if isinstance(result, Token):
            self._blank(out, "sasl", SIZE, len(out))
        elif isinstance(result, Undecodable) or is_doubtful(result):
            self._header_alone(out, result)
        else:
            for span in result.spans:
                self._span(out, span, result.codec)
        return bytes(out)

    def _header_alone(self, out: bytearray, result: Request | Response | Undecodable) -> None:
        """Blank everything except the header.

        If the bytes of a body do not match the decoded fields, numbers and names may contain secrets. With its header,
        the frame still decodes as the same message, as far as before.
        """
        known = _count_known(result)
        codec = result.codec
        for span in result.spans:
            if codec is not None and span.path.startswith("header.") and span.type not in _OPAQUE:
                self._span(out, span, codec)
                known = max(known, span.stop)
        self._blank(out, "unknown", known, len(out))

    def _span(self, out: bytearray, span: Span, codec: Codec) -> None:
        if span.type in _OPAQUE:
            self._blank(out, "unknown", span.stop - len(span.value), span.stop)
            return
        if self._addresses is not None and isinstance(span.value, int) and span.path.endswith(PORTS):
            port = self._addresses.port(span.value)
            out[span.start : span.stop] = port.to_bytes(span.stop - span.start, "big", signed=port < 0)
            return
        if not isinstance(span.value, str | bytes) or span.type == "uuid":
            return
        kind = self._kind(codec, span.path, isinstance(span.value, str))
        if kind is None or kind in self.keep:
            return
        start = span.start + _prefix(span, out)
        if kind == "records":
            self.counts[kind] += start < span.stop
            out[start : span.stop] = blank_records(bytes(out[start : span.stop]))
        elif kind in NAMES:
            self._name(out, kind, start, span.stop)
        else:
            self._blank(out, kind, start, span.stop)

    def _name(self, out: bytearray, kind: str, start: int, stop: int) -> None:
        """Replace a name by a pseudonym of the same length, always the same for equal names; Kafka's own names stay."""
        name = bytes(out[start:stop])
        if not name or name == b"*" or name.startswith(b"__"):
            return
        self.counts[kind] += 1
        separator = SEPARATORS.get(kind)
        prefix = b""
        if kind == "user" and b":" in name:  # User:alice
            start_of_name = name.index(b":") + 1
            prefix = name[:start_of_name]
            name = name[start_of_name:]
        parts = [name] if separator is None else name.split(separator)
        stand_in = self._host if kind == "host" and self._addresses is not None else self._stand_in
        out[start:stop] = prefix + (separator or b"").join(map(stand_in, parts))

    def _host(self, name: bytes) -> bytes:
        """Return the rewritten address; of a name its pseudonym."""
        assert self._addresses is not None
        address = self._addresses.host(name.decode("latin-1"))
        return self._stand_in(name) if address is None else address.encode()

    def _stand_in(self, name: bytes) -> bytes:
        """Return the pseudonym of a name.

        Pseudonyms of names with equal length are distinct, as long as there are enough.
        """
        if name in (b"", b"*") or name in self._names:
            return self._names.get(name, name)
        number = self._counts[len(name)]
        digits = ""
        self._counts[len(name)] += 1
        while number or not digits:
            number, digit = divmod(number, len(_DIGITS))
            digits = _DIGITS[digit] + digits
        self._names[name] = digits.rjust(len(name), _FILL_TEXT)[-len(name) :].encode()
        return self._names[name]

    def _blank(self, out: bytearray, kind: str, start: int, stop: int) -> None:
        if kind == "unknown" and not any(out[start:stop]):
            return  # zeros tell nothing; those after ApiVersions requests of librdkafka prove what they are
        if kind not in self.keep and stop > start:
            self.counts[kind] += 1
            out[start:stop] = bytes([FILL]) * (stop - start)

    def _kind(self, codec: Codec, path: str, is_text: bool) -> str | None:
        plain = _INDEX.sub("", path)
        key = codec, plain, is_text
        if key not in self._kinds:
            location = field_locations(codec).get(plain)
            owner, _, name = plain.rpartition(".")
            self._kinds[key] = kind_for(location.owner if location else owner, name, is_text)
        return self._kinds[key]


def reading_of(result: Result) -> str:
    """Return how a frame is read, in words that a redacted copy has too.

    >>> frame = Frame(bytes.fromhex("00000004 00000007"))
    >>> reading_of(FrameDecoder().decode(frame))
    'undecodable frame'
    """
    if isinstance(result, Request | Response):
        return f"{result.api_name} v{result.api_version} {result.codec.spec.type}"
    if isinstance(result, Token):
        return "SASL token"
    is_frame = result.is_failure and not isinstance(result.frame.fault, NoFrame)
    return "undecodable frame" if is_frame else UNREAD


def _count_known(result: Request | Response | Undecodable) -> int:
    """Return how many of the first bytes of a frame are its size, api and correlation id.

    These bytes contain no secret; with them, the frame still decodes as the same message.
    """
    frame = result.frame
    if frame.bare or isinstance(frame.fault, NoFrame):
        return 0
    if result.codec is not None:
        return REQUEST_IDS if result.codec.spec.type == "request" else RESPONSE_IDS
    if isinstance(result.error, UnknownVersion) and is_request_header(result.header):
        return REQUEST_IDS
    return RESPONSE_IDS if frame.source.direction == "response" and not result.is_private else SIZE


def _prefix(span: Span, data: bytearray) -> int:
    """Return the size of the length field of a span, in bytes."""
    if "compact" not in span.type:
        return 2 if isinstance(span.value, str) else 4
    return next(index for index in range(1, 11) if data[span.start + index - 1] < 0x80)
