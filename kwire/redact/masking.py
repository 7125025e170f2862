"""Masks the secrets of decoded frames for display.

Sizes and positions stay, so that all output of a masked result is safe: fields, spans, bytes, faults.
"""

from __future__ import annotations

import copy
from typing import Any

from msgspec.structs import replace
from msgspec.structs import replace as replace_fields

from ..codecs.field_search import FieldLocation, FieldStep, plan_fields
from ..codecs.message_codec import Codec
from ..codecs.tracing import Span
from ..codecs.wire import Bytes, String, Uuid
from ..errors import DecodeError, path_text
from ..protocol import Request, Response, Result, SaslMessage, Token, Undecodable, spans_for
from ..protocol.frames.frame_size import LIMIT
from ..protocol.frames.stream_faults import NotKafka
from ..schema.sensitive_fields import ENVELOPED, SECRET_FIELDS, SECRET_PARTS, Hidden
from .metadata_log_secrets import RECORDS, holds_secrets
from .secret_bytes import is_recognised, looks_secret, may_hold_secret, may_leave_secret, reads_as_secret
from .secret_messages import always_carries, may_hold_secrets
from .sensitive_configs import is_sensitive

HIDDEN_DETAILS = "details hidden (may contain secrets); use --show-secrets"
_UNCLEAR = ("unknown tag", "left over", "not understood")


def mask(result: Result) -> Result:
    """Return a result without secrets; the same result if it contains none.

    Args:
        result: a result of a `FrameDecoder`.

    Returns:
        The result with `Hidden` values for secrets, and zeros in the bytes of the frame. In an `Undecodable` that may
        contain a secret, `hidden` counts the bytes that must not be shown, and the error keeps only its numbers.

    >>> import kwire
    >>> message = kwire.messages.SaslAuthenticateRequest(auth_bytes=b"\\\\0alice\\\\0wonder")
    >>> frame = kwire.Frame(kwire.encode_request(message, 1))
    >>> mask(next(kwire.decode_frames([frame]))).message.auth_bytes
    [hidden] (15 bytes)
    """
    if isinstance(result, Undecodable):
        return _mask_undecodable(result)
    if isinstance(result, Token):
        return _mask_token(result)
    if isinstance(result, Response) and not str(getattr(result.request, "client_id", "")).isprintable():
        result = replace(result, request=_drop_client_id(result.request))  # it may contain bytes of a secret
    if may_hold_secrets(result.codec, result.message):
        return _mask_decoded(result)
    left_over = may_leave_secret(result)
    message = result.frame.data[: len(result.frame.data) - len(result.rest)]
    is_doubted = left_over and (not is_recognised(result) or looks_secret(message))
    if is_doubted or (result.faults and reads_as_secret(result.frame.data)):
        doubted = Undecodable(frame=result.frame, error=result.faults[-1], header=result.header, codec=result.codec)
        return _hide_frame(replace(doubted, client=result.client, spans=result.spans))
    return _mask_decoded(result) if left_over else result


def _mask_decoded(result: Request | Response) -> Request | Response:
    masking = _Masking(result.inside)
    message = masking.message(result.codec, result.message)
    inside = masking.inside
    if not masking.secrets and inside is result.inside and not (result.faults or result.rest):
        return result
    unclear = always_carries(result.codec) or bool(masking.secrets or result.faults or result.rest)
    if unclear and message.unknown_tags:
        message = replace_fields(message, unknown_tags=None)
    spans = tuple(_mask_span(span, masking.secrets, unclear) for span in spans_for(result))
    faults = tuple(map(mask_error, result.faults)) if unclear else result.faults
    odd = bool(result.faults or result.rest) or not str(getattr(result.header, "client_id", "")).isprintable()
    header = result.header
    if unclear and odd and header is not None:
        header = _drop_client_id(header)
    return replace(
        result,
        frame=replace(result.frame, data=masked(result.frame.data, spans)),
        header=header,
        message=message,
        inside=inside,
        faults=faults,
        rest=b"" if unclear else result.rest,
        spans=spans,
    )


class _Masking:
    """A traversal of one message; `secrets` maps paths to secrets."""

    def __init__(self, inside: Any = None) -> None:
        self.secrets: dict[str, Hidden] = {}
        self.inside = mask_nested(inside)
        # The contents of an envelope are shown decoded; its bytes are shown only if they contain no secret.
        self.hides_inside = inside is None or self.inside is not inside
        self._sensitive = False  # whether the enclosing configuration is sensitive: then its synonyms are too

    def message(self, codec: Codec, value: Any) -> Any:
        """Return a message without its secrets."""
        return self._struct(plan_fields(codec, _may_be_secret), value, [])

    def _struct(self, steps: tuple[FieldStep, ...], value: Any, path: list[str | int]) -> Any:
        changes: dict[str, Any] = {}
        enclosing = self._sensitive
        self._sensitive = enclosing or _is_sensitive(value)
        for step in steps:
            member = getattr(value, step.name)
            if member:
                path.append(step.name)
                kept = self._field(step, member, path)
                path.pop()
                if kept is not member:
                    changes[step.name] = kept
        self._sensitive = enclosing
        return replace_fields(value, **changes) if changes else value

    def _field(self, step: FieldStep, value: Any, path: list[str | int]) -> Any:
        if not step.steps:
            return self._hide(value, path) if self._is_secret(step.name, value) else value
        if not step.is_array:
            return self._struct(step.steps, value, path)
        items = []
        for index, item in enumerate(value):
            path.append(index)
            items.append(self._struct(step.steps, item, path))
            path.pop()
        is_unchanged = all(after is before for after, before in zip(items, value, strict=True))
        return value if is_unchanged else tuple(items)

    def _hide(self, secret: bytes | str, path: list[str | int]) -> Hidden:
        hidden = self.secrets[path_text(path)] = Hidden(secret)
        return hidden

    def _is_secret(self, name: str, value: bytes | str) -> bool:
        if name in SECRET_FIELDS:
            return True
        if name == "value":
            return self._sensitive
        if name in RECORDS:
            return isinstance(value, bytes) and holds_secrets(value)
        return name in ENVELOPED and self.hides_inside


def _is_sensitive(config: Any) -> bool:
    """Whether a struct is a configuration that is sensitive according to the broker or to its name."""
    if not hasattr(config, "value"):
        return False
    return bool(getattr(config, "is_sensitive", False)) or is_sensitive(str(getattr(config, "name", "")))


def _may_be_secret(location: FieldLocation) -> bool | None:
    name = location.name
    may_be = name in SECRET_FIELDS or name in ENVELOPED or name in RECORDS or name == "value"
    return (may_be and isinstance(location.node, Bytes | String | Uuid) and not location.is_array) or None


def mask_message(codec: Codec, message: Any, *, keep_tags: bool = True) -> Any:
    """Return a message without its secrets, as `mask` does for a result without faults; not for an Envelope.

    Args:
        codec: the codec of the message.
        message: the decoded message.
        keep_tags: keep unknown tags, which may be secrets, in a message without known secrets.
    """
    masking = _Masking()
    masked_message = masking.message(codec, message)
    if masked_message.unknown_tags and (masking.secrets or not keep_tags):
        return replace_fields(masked_message, unknown_tags=None)
    return masked_message


def mask_nested(inside: Any) -> Any:
    """Mask the nested payload of a message."""
    if isinstance(inside, SaslMessage):
        return _mask_sasl(inside)
    if isinstance(inside, Undecodable):
        return _hide_frame(inside)
    return None if inside is None else mask(inside)


def _mask_sasl(content: SaslMessage) -> SaslMessage:
    fields = {
        name: Hidden(value) if name in SECRET_PARTS and isinstance(value, str | bytes) else value
        for name, value in content.fields.items()
    }
    return replace(content, fields=fields)


def _mask_token(token: Token) -> Token:
    if not SECRET_PARTS & token.content.fields.keys():
        return token
    spans = tuple(
        span._replace(value=Hidden(span.value)) if isinstance(span.value, bytes) else span for span in token.spans
    )
    data = token.frame.data[:4] + bytes(len(token.frame.data) - 4)
    return replace(token, frame=replace(token.frame, data=data), content=_mask_sasl(token.content), spans=spans)


def _mask_undecodable(result: Undecodable) -> Undecodable:
    frame = result.frame
    size = len(frame.data)
    if isinstance(frame.fault, NotKafka):
        return replace(result, frame=replace(frame, data=b""), spans=(), hidden=size)
    if not size or not (result.is_private or may_hold_secret(result)):
        return result
    return _hide_frame(result)


def _hide_frame(result: Undecodable) -> Undecodable:
    """Return a result that hides the whole frame."""
    frame = result.frame
    size = len(frame.data)
    # If the header is damaged, the client id may also contain bytes of the secret.
    return replace(
        result,
        frame=replace(frame, data=bytes(size)),
        error=result.error if result.error is frame.fault else mask_error(result.error),
        header=None if result.header is None else _drop_client_id(result.header),
        spans=(Span(0, size, "", "not understood", Hidden(frame.data)),) if result.spans else (),
        hidden=size,
    )


def _drop_client_id(header: Any) -> Any:
    fields = {"client_id": None} if hasattr(header, "client_id") else {}
    return replace_fields(header, unknown_tags=None, **fields)


def mask_error(error: DecodeError) -> DecodeError:
    """Return an error without bytes of the message: its position, sizes, offsets and counts stay.

    >>> from kwire.errors import BadLength
    >>> str(mask_error(BadLength(found=1, need=6, have=0, raw=b"wonder")))
    'length 1 needs 6 bytes, 0 left (offset 0)'
    """
    masked = copy.copy(error)
    masked.raw = masked.rest = b""
    masked.partial = None
    masked.faults = ()
    if error.quotes and not (_is_count(error.found) and _is_count(error.need)):
        masked.problem = HIDDEN_DETAILS
        masked.found = None
        masked.need = None
    return masked


def _is_count(value: Any) -> bool:
    """Whether a value is a size, an offset or a count. A larger number is four bytes of other data."""
    if isinstance(value, tuple):
        return all(map(_is_count, value))
    return value is None or (isinstance(value, int) and abs(value) <= LIMIT)


def _mask_span(span: Span, secrets: dict[str, Hidden], unclear: bool) -> Span:
    faults = tuple(map(mask_error, span.faults)) if unclear else span.faults
    hidden = secrets.get(span.path) if isinstance(span.value, bytes | str) else None
    if hidden is None and unclear and span.type in _UNCLEAR and isinstance(span.value, bytes):
        hidden = Hidden(span.value)
    return span._replace(faults=faults) if hidden is None else span._replace(value=hidden, faults=faults)


def masked(data: bytes, spans: tuple[Span, ...]) -> bytes:
    """Return bytes with zeros in place of hidden spans."""
    out = bytearray(data)
    for span in spans:
        if isinstance(span.value, Hidden):
            out[span.stop - span.value.size : span.stop] = bytes(span.value.size)
    return bytes(out)
