"""A JSON template of a message to fill in."""

from __future__ import annotations

from typing import Any

from ...codecs.json_writer import to_json
from ...codecs.message_codec import Codec
from ...codecs.wire import Node, content_of
from ...schema.spec_layers import WIRE_TYPES


def template(codec: Codec) -> dict[str, Any]:
    """Return a JSON template of a message to fill in; for a request or response, a template of the whole frame.

    >>> import kwire
    >>> template(kwire.codec("ControlledShutdownRequest", 1))["payload"]
    {'brokerId': 0}
    """
    payload: dict[str, Any] = to_json(codec.tree, _fill_defaults(codec.tree, None))
    spec = codec.spec
    if spec.type not in WIRE_TYPES:
        return payload
    header: dict[str, Any] = {"apiKey": spec.api_key, "apiName": spec.api_name, "apiVersion": codec.version}
    header["correlationId"] = 1
    if spec.type == "request":
        header["clientId"] = "kwire"
    return {"kwire": 1, "type": spec.type, "header": header, "payload": payload}


def _fill_defaults(node: Node, default: Any) -> Any:
    _, struct, is_array = content_of(node)
    if struct is None:
        return default
    made = struct.message_class(
        **{str(field.name): _fill_defaults(field.subcon, field.default) for field in struct.fields}
    )
    return (made,) if is_array else made
