"""Chooses frames of a capture that are then decoded, counted, or written as rows of fields."""

from __future__ import annotations

from collections.abc import Callable

from ...codecs.message_codec import Codec
from ...protocol import FrameDecoder
from ...protocol.connections.decoded_connection import DecodedConnection
from ...protocol.frame_kinds import FrameKind, FrameKinds
from ...protocol.frames.captured_frame import Endpoints
from ...protocol.headers.apis import Call
from ...query.captured_query import CapturedQuery
from ...redact.secret_messages import may_carry
from .line_writer import CaptureWriterBase


class SelectedFrames(CaptureWriterBase):
    """Chooses frames; `selection` says what becomes of them. For the arguments see `CaptureWriterBase`."""

    def __init__(self, decoder: FrameDecoder, file: str, *, sealed: bool, selection: CapturedQuery) -> None:
        super().__init__(decoder, file, FrameKinds(self._kind), sealed=sealed, selection=selection)
        self.begin: Callable[[Endpoints], DecodedConnection] = decoder.connections.of

    def _kind(self, call: Call, is_request: bool, codec: Codec, tagged: bool) -> FrameKind | None:
        if self.sealed and (may_carry(codec) or not is_request) and not str(call.client_id).isprintable():
            return None  # it may contain bytes of a secret
        return FrameKind(call, is_request, codec, tagged)
