"""Frames of a served connection: request frames are decoded, responses encoded.

After an invalid request the connection must be closed, as in Kafka; the exception is ApiVersions, which always gets a
response (KIP-511).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..codecs.fast_path import REFUSALS
from ..codecs.message_codec import Codec, codec_in
from ..errors import TooLong
from ..protocol import Frame, Request, Undecodable, encode_response
from ..protocol.frame_parser import FrameParser
from ..protocol.frames.frame_size import get_int16, get_int32
from ..protocol.headers.frame_tables import frame_table
from ..runtime.caches import once
from ..schema.catalog import Catalog
from ..values import ErrorCode
from .api import ServedApi
from .apis.cluster.api_versions import versions_response

if TYPE_CHECKING:
    from ..codecs.native import FrameTable

API_VERSIONS = 18
MOST_QUOTED = 1000  # characters of an error message that is cut


class ServedRequest(msgspec.Struct, frozen=True):
    """A decoded request: its message, and the header fields that the response needs."""

    message: Any
    version: int
    correlation_id: int
    client_id: str


class Unserved(msgspec.Struct, frozen=True):
    """A frame that is not served. `answer` contains the bytes to send; if it is empty, the connection is closed because
    of `problem`."""

    answer: bytes = b""
    problem: str = ""


class RequestReader(NamedTuple):
    """What reads the requests of an api at one version: the codec of the body, and the native table of the frame."""

    codec: Codec
    table: FrameTable | None


@once
def _reader(catalog: Catalog, api_key: int, version: int) -> RequestReader:
    spec = catalog.find(api_key, "request", version)
    assert spec is not None
    codec = codec_in(catalog, spec.name, version)
    return RequestReader(codec, frame_table(catalog, codec))


def read_request(frame: Frame, catalog: Catalog, apis: dict[int, ServedApi]) -> ServedRequest | Unserved:
    """Decode a request frame.

    Args:
        frame: one complete frame.
        catalog: the specs.
        apis: the served apis, by key.
    """
    api_key, version = get_int16(frame.data, 4), get_int16(frame.data, 6)
    api = apis.get(api_key)
    if api is None:
        return Unserved(problem=f"api key {api_key} is not served")
    if not api.first <= version <= api.last:
        return _refuse_version(frame, catalog, apis, f"version {version} of api key {api_key} is not served")
    codec, table = _reader(catalog, api_key, version)
    if table is not None:
        try:
            header, message = table.read(frame.data)
            return ServedRequest(message, version, header.correlation_id, getattr(header, "client_id", None) or "")
        except REFUSALS:
            pass  # the parser below tolerates what Kafka does, and explains the rest
    read = FrameParser(frame, catalog, salvage=True, trace=False).request(codec)
    if isinstance(read, Undecodable):
        return Unserved(problem=str(read.error))
    assert isinstance(read, Request)
    return ServedRequest(read.message, version, read.correlation_id or 0, getattr(read.header, "client_id", None) or "")


def write_response(request: ServedRequest, response: Any, catalog: Catalog) -> bytes:
    """Encode the response to a request; in the draft of KIP-36, the body contains the correlation id.

    An error that quotes names of the request can be longer than any text of the protocol, and is cut.
    """
    if hasattr(response, "correlation_id"):
        response = msgspec.structs.replace(response, correlation_id=request.correlation_id)
    try:
        return encode_response(response, request.version, correlation_id=request.correlation_id, catalog=catalog)
    except TooLong:
        response = _with_short_errors(response)
        return encode_response(response, request.version, correlation_id=request.correlation_id, catalog=catalog)


def _with_short_errors(message: Any) -> Any:
    """Return a message, or a part of one, with its error messages cut."""
    if isinstance(message, tuple):
        return tuple(_with_short_errors(part) for part in message)
    if not isinstance(message, msgspec.Struct):
        return message
    changes = {name: _with_short_errors(getattr(message, name)) for name in message.__struct_fields__}
    for name, value in changes.items():
        if name.endswith("error_message") and isinstance(value, str) and len(value) > MOST_QUOTED:
            changes[name] = f"{value[:MOST_QUOTED]}..."
    return msgspec.structs.replace(message, **changes)


def _refuse_version(frame: Frame, catalog: Catalog, apis: dict[int, ServedApi], problem: str) -> Unserved:
    if get_int16(frame.data, 4) != API_VERSIONS or len(frame.data) < 12:
        return Unserved(problem=problem)
    response = versions_response(apis, ErrorCode.UNSUPPORTED_VERSION)
    return Unserved(encode_response(response, 0, correlation_id=get_int32(frame.data, 8), catalog=catalog))
