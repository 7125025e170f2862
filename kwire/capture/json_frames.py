"""Converts the JSON objects of frames, as `kwire decode --jsonl` writes them, to frames."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ..codecs.json_reader import read_unknown_tags as tags_from_json
from ..codecs.json_writer import UNKNOWN_TAGS
from ..codecs.message_codec import codec_in
from ..errors import HiddenValue, MissingField, WrongType
from ..protocol import Frame, Source, encode_request, encode_response
from ..protocol.frames.stream_faults import BegunBefore, Fragment, Gap, NoFrame, PassedOver
from ..schema.catalog import Catalog
from ..schema.sensitive_fields import HIDDEN

_SOURCE_MEMBERS = {
    "file": str,
    "frame": int,
    "offset": int,
    "time": int | float,
    "client": str,
    "broker": str,
    "connection": int,
    "direction": str,
}
FAULTS: dict[Any, type[NoFrame]] = {kind.__name__: kind for kind in (BegunBefore, Fragment, Gap, PassedOver)}


def open_envelope(members: Any, catalog: Catalog) -> bytes:
    """Convert the JSON object of a frame to the bytes of the frame.

    Args:
        members: the object that `kwire.envelope` returns; `source` is optional.
        catalog: the specs to use.

    Raises:
        EncodeError, UnknownMessage, UnsupportedVersion: with the position in the JSON.
    """
    return envelope_frame(members, catalog).data


def envelope_frame(members: Any, catalog: Catalog) -> Frame:
    """Convert the JSON object of a frame to a frame with `message` and `version` set.

    Arguments and errors are those of `open_envelope`.
    """
    if not isinstance(members, dict):
        raise WrongType(need="an object with type, header and payload", found=f"{members!r}"[:60])
    if members.get("type") in ("undecodable", "incomplete", "token"):
        return Frame(_read_raw(members), read_source(members), fault=_read_fault(members))
    header = need_member(members, "header", dict)
    api_key, version = need_member(header, "apiKey", int, "header"), need_member(header, "apiVersion", int, "header")
    version = members.get("payloadVersion", version)
    kind = need_member(members, "type", str)
    spec = catalog.find(api_key, kind, version)
    if spec is None:
        description = f"{kind} of api key {api_key} version {version}"
        raise WrongType(need="a known type, apiKey and apiVersion", found=description, segments=["header"])
    message = codec_in(catalog, spec.name, version).from_json(need_member(members, "payload", dict))
    common = {
        "correlation_id": need_member(header, "correlationId", int, "header"),
        "header_tags": tags_from_json(header.get(UNKNOWN_TAGS, [])),
        "catalog": catalog,
    }
    if kind == "request":
        data = encode_request(message, version, client_id=header.get("clientId"), **common)
    else:
        data = encode_response(message, version, **common)
    source = read_source(members)
    return Frame(data, replace(source, direction=source.direction or kind), message=spec.name, version=version)


def _read_fault(members: dict[str, Any]) -> NoFrame | None:
    """Return the fault of bytes that are not a frame, as reported by their container; None if there is none."""
    error = members.get("error")
    if not isinstance(error, dict) or error.get("class") not in FAULTS:
        return None
    count = error.get("count")
    count = count if isinstance(count, int) and count >= 0 else None
    return FAULTS[error["class"]](count)


def read_source(members: dict[str, Any]) -> Source:
    """Return the original source of a frame, without malformed members."""
    source = members.get("source")
    if not isinstance(source, dict):
        return Source()
    sound = {name: source[name] for name, kind in _SOURCE_MEMBERS.items() if isinstance(source.get(name), kind)}
    return Source(**sound)


def need_member(members: dict[str, Any], name: str, kind: type[Any], inside: str = "") -> Any:
    """Return a member of an object. Raises EncodeError if it is missing or of another kind."""
    path = [inside, name] if inside else [name]
    if name not in members:
        raise MissingField(segments=path)
    value = members[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise WrongType(need=f"a {kind.__name__}", found=f"{value!r}"[:60], segments=path)
    return value


def _read_raw(members: dict[str, Any]) -> bytes:
    if isinstance(members.get("raw"), dict) and HIDDEN in members["raw"]:
        raise HiddenValue(segments=["raw"])
    try:
        return bytes.fromhex(need_member(members, "raw", str))
    except ValueError:
        raise WrongType(need="hex", found="something else", segments=["raw"]) from None
