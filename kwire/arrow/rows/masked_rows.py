"""Masks the secrets in the rows of a table, for the option `maskSecrets`: what commands mask, in columns.

Bytes of frames are zeros where a secret was. What is not recognised as a message without secrets is masked whole.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from ...codecs.message_codec import Codec
from ...codecs.native import FrameRows
from ...protocol import Frame, FrameDecoder, Result, Source, Token, Undecodable
from ...protocol.frames.stream_faults import BrokenDump
from ...protocol.headers.apis import Api
from ...protocol.message_summary import METADATA_TOPIC, METADATA_TOPIC_ID, carries_metadata_log
from ...redact.masking import HIDDEN_DETAILS, mask
from ...redact.secret_bytes import is_short
from ...redact.secret_messages import may_carry
from ...schema.catalog import Catalog
from ...schema.sensitive_fields import Hidden
from .frame_body import parse_alone
from .frame_rows import DIRECTIONS, Row
from .row_faults import NOT_CORRUPT, RowFault

NUMBERS_ONLY = NOT_CORRUPT | {BrokenDump.code}  # faults whose reasons quote no bytes of frames
_TOPIC = METADATA_TOPIC.encode()


class RowMasking:
    """Masks rows.

    Args:
        catalog: the specs of the frames.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog: Catalog = catalog

    def mask_rows(self, rows: FrameRows, faults: dict[int, RowFault]) -> FrameRows:
        """Return rows without secrets in their bytes and client ids.

        Args:
            rows: the rows of one batch, with their bytes.
            faults: the faults of the rows and of their bodies, by index; their reasons are masked.
        """
        clients = (client for _, client in rows.calls()[0])
        if not faults and all(map(_is_safe_client, clients)):
            return rows
        masked = FrameRows()
        for index, row in enumerate(rows):
            fault = faults.get(index)
            if fault is not None:
                row, faults[index] = self._mask_faulty(row, fault)
            masked.append(row if _is_safe_client(row.client_id) else _without_client(row))
        return masked

    def mask_frame(self, row: Row) -> bytes:
        """Return the bytes of a row without a fault."""
        data, is_request, api = row.data, row.is_request, row.api
        if api is None:  # a SASL token, or a batch of a log, which `BatchReader` has masked
            is_token = len(data) == 4 + int.from_bytes(data[:4], "big")
            return data[:4] + bytes(len(data) - 4) if is_token else data
        if api.codec(is_request) is None:
            return bytes(len(data))
        return mask(parse_alone(data, api, is_request)).frame.data

    def _mask_faulty(self, row: Row, fault: RowFault) -> tuple[Row, RowFault]:
        """Return a row and its fault without secrets."""
        data, client = row.data, row.client_id
        result = self._result_of(data, row.is_request, row.api)
        if result is None:
            if is_short(data[4:]):
                return row, fault
            reason = fault.reason if fault.code in NUMBERS_ONLY else HIDDEN_DETAILS
            return row._replace(data=bytes(len(data)), client_id=None), fault._replace(reason=reason)
        if fault.is_private and isinstance(result, Undecodable):
            result = replace(result, is_private=True)
        masked = mask(result)
        if masked is result:
            return row, fault
        if fault.code not in NUMBERS_ONLY:
            fault = fault._replace(reason=_reason_of(masked))
        client = client if getattr(masked.header, "client_id", None) == client else None
        return row._replace(data=masked.frame.data, client_id=client), fault

    def _result_of(self, data: bytes, is_request: bool | None, api: Api | None) -> Result | None:
        """Decode a frame again; return None for bytes that are no frame of a known api."""
        if api is None:
            return None
        if api.codec(is_request) is not None:
            return parse_alone(data, api, is_request)
        return FrameDecoder(self.catalog).decode_alone(Frame(data, Source(direction=DIRECTIONS[is_request])))


def may_hold_secrets(codec: Codec, data: bytes) -> bool:
    """Whether a frame may have secrets, by its message and, for the metadata log, its topics.

    Args:
        codec: the codec of the frame's body.
        data: the frame.
    """
    if may_carry(codec):
        return True
    return carries_metadata_log(codec) and (_TOPIC in data or METADATA_TOPIC_ID in data)


def mask_and_fill(result: Result) -> Result:
    """Return a masked result whose message can be encoded: in place of each secret is a text with its size."""
    masked = mask(result)
    if masked is result or isinstance(masked, Undecodable | Token) or isinstance(result, Undecodable | Token):
        return masked
    return replace(masked, message=fill_hidden(masked.message, result.message))


def fill_hidden(masked: Any, original: Any) -> Any:
    """Return a masked value with a text in place of each secret, as bytes where the secret is bytes.

    >>> fill_hidden(Hidden(b"wonder"), b"wonder"), fill_hidden(Hidden("wonder"), "wonder")
    (b'[hidden] (6 bytes)', '[hidden] (6 bytes)')
    """
    if masked is original:
        return masked
    if isinstance(masked, Hidden):
        return str(masked) if isinstance(original, str) else str(masked).encode()
    if isinstance(masked, tuple):
        return tuple(map(fill_hidden, masked, original))
    if not isinstance(masked, msgspec.Struct):
        return masked
    names = (name for name in masked.__struct_fields__ if getattr(masked, name) is not getattr(original, name))
    return replace(masked, **{name: fill_hidden(getattr(masked, name), getattr(original, name)) for name in names})


def _reason_of(masked: Result) -> str:
    """Return why a masked frame did not decode."""
    if isinstance(masked, Undecodable):
        return str(masked.error)
    if isinstance(masked, Token) or not masked.faults:
        return HIDDEN_DETAILS
    return str(masked.faults[0])


def _is_safe_client(client: str | None) -> bool:
    return client is None or client.isprintable()


def _without_client(row: Row) -> Row:
    """Return a row without its client id, which may contain bytes of a secret."""
    return row._replace(client_id=None)
