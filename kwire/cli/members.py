"""Fields as people write them on a command line: `topics:='[..]'`, `timeoutMs=100`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from ..codecs import Codec
from ..errors import suggestion
from ..net.client import SOFTWARE
from ..wire import Field, Integer, String
from .inputs import UsageError

_MEMBER = re.compile(r"(?P<name>\w+)(?P<sign>:?=)(?P<text>.*)", re.DOTALL)
# What is sent where nothing is given, and the default of the spec is not meant: Metadata would create topics.
DEFAULTS = {"allowAutoTopicCreation": False, **SOFTWARE}


def message_of(codec: Codec, members: Iterable[str], body: dict[str, Any] | None = None) -> Any:
    """Make a message of what was written.

    Args:
        codec: of the message.
        members: `name=text` or `name:=JSON`, names as in Kafka's JSON or in snake case.
        body: JSON that the members are put into.

    Returns:
        The message; what was not written has its default, but Metadata is not to create topics, and ApiVersions has
        the name and version of this software.

    Raises:
        UsageError: a member that is none of these, or a name that the message has not.
        EncodeError: a value that the field cannot hold.

    >>> import kwire
    >>> message_of(kwire.codec("MetadataRequest", 4), ['topics:=[{"name": "orders"}]']).allow_auto_topic_creation
    False
    """
    fields = {name: field for field in codec.schema.all_fields for name in (field.json_name, str(field.name))}
    values = dict(body or {})
    for name, value in DEFAULTS.items():
        if name in fields and not {name, str(fields[name].name)} & values.keys():
            values[name] = value
    for member in members:
        match = _MEMBER.fullmatch(member)
        if match is None:
            raise UsageError(f"{member}: this is no field; write NAME=TEXT or NAME:=JSON")
        field = fields.get(match["name"])
        if field is None:
            hint = suggestion(match["name"], fields) or f"see kwire schema {codec.name}:{codec.version}"
            raise UsageError(f"{member}: {codec.name} v{codec.version} has no field {match['name']}; {hint}")
        values[field.json_name] = _value(field, match["sign"], match["text"], member)
    return codec.from_json(values, defaults=True)


def _value(field: Field, sign: str, text: str, member: str) -> Any:
    if sign == "=" and isinstance(field.subcon, String):
        return text
    if sign == "=" and isinstance(field.subcon, Integer) and not re.fullmatch(r"-?\d{1,20}", text):
        raise UsageError(f"{member}: {field.json_name} is a number")
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"{member}: this is no JSON: {getattr(error, 'msg', 'nested too deep')}") from None
