"""Converts a line in the text form to frames; where its bodies cannot be read back, to frames with a header only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...codecs.message_codec import codec_in
from ...errors import KwireError, WrongType
from ...protocol import Frame, encode_request, encode_response
from ...protocol.frames.stream_faults import BodyNotLogged
from ...protocol.headers.header_versions import header_version_for
from ...schema.catalog import Catalog
from ...schema.message_spec import MessageSpec
from .struct_text import StructText
from .text_form import TextLine, api_key_of


def text_frames(line: TextLine, catalog: Catalog) -> tuple[list[Frame], int]:
    """Convert a line to its request and, if one was sent, its response.

    Returns:
        The frames, and the number of bytes of values of which the log has only the size.

    Raises:
        WrongType: Kafka has no such api or version.
    """
    key = api_key_of(line.api, catalog)
    left_out = 0
    frames: list[Frame] = []
    for kind, text in (("request", line.request), ("response", line.response)):
        if kind == "response" and not line.is_answered:
            continue
        spec = catalog.find(key, kind, line.version)
        if spec is None:
            message = f"{kind} of api key {key} version {line.version}"
            raise WrongType(need="a known api key and version", found=message)
        frame, size = _build_frame(spec, line, text, catalog)
        frames.append(frame)
        left_out += size
    return frames, left_out


def _build_frame(spec: MessageSpec, line: TextLine, text: str | None, catalog: Catalog) -> tuple[Frame, int]:
    time = line.completed.date if spec.type == "response" else line.completed.asked_at
    source = replace(line.source, direction=spec.type, time=time)
    is_last = spec.type == "response" or not line.is_answered
    times = line.completed.times if is_last else None
    try:
        data, left_out = _encode(spec, line, text, catalog)
        return Frame(data, source, message=spec.name, version=line.version, broker_times=times), left_out
    except KwireError:  # the text is not as Kafka's own classes print it, or names no field of this version
        data = _encode_header(spec, line, catalog)
        fault = BodyNotLogged(have=len(data))
        return Frame(data, source, message=spec.name, version=line.version, fault=fault, broker_times=times), 0


def _encode(spec: MessageSpec, line: TextLine, text: str | None, catalog: Catalog) -> tuple[bytes, int]:
    reader = StructText(text or "", line.version)
    message = codec_in(catalog, spec.name, line.version).from_json(reader.read(spec.struct))
    if spec.type == "response":
        data = encode_response(message, line.version, correlation_id=line.correlation_id, catalog=catalog)
    else:
        data = encode_request(
            message, line.version, correlation_id=line.correlation_id, client_id=line.client_id, catalog=catalog
        )
    return data, reader.left_out


def _encode_header(spec: MessageSpec, line: TextLine, catalog: Catalog) -> bytes:
    """Encode the size and the header of a frame."""
    name = "RequestHeader" if spec.type == "request" else "ResponseHeader"
    codec = codec_in(catalog, name, header_version_for(spec, line.version) or 0)
    fields: dict[str, Any] = {"correlation_id": line.correlation_id}
    if spec.type == "request":
        fields |= {"request_api_key": spec.api_key, "request_api_version": line.version, "client_id": line.client_id}
    header = codec.encode(codec.message_class(**fields))
    return len(header).to_bytes(4, "big") + header
