"""Builds a message from arguments: FIELD=TEXT, FIELD:=JSON, and defaults for the fields that are not given."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from ...client.connection import SOFTWARE
from ...codecs.message_codec import Codec
from ...codecs.wire import Field, Integer, String
from ...errors import json_problem, suggestion
from .usage_error import UsageError

_MEMBER = re.compile(r"(?P<name>\w+)(?P<sign>:?=)(?P<text>.*)", re.DOTALL)
# Values sent for omitted fields where the spec's default is unsuitable: Metadata would create topics.
DEFAULTS: dict[str, object] = {"allowAutoTopicCreation": False, **SOFTWARE}


def message_of(codec: Codec, members: Iterable[str], body: dict[str, Any] | None = None) -> Any:
    """Build a message from command-line arguments.

    Args:
        codec: the codec of the message.
        members: `name=text` or `name:=JSON`, names as in Kafka's JSON or in snake case.
        body: a JSON object to which the members are added.

    Returns:
        The message. Omitted fields have their defaults, except that Metadata does not create topics, and ApiVersions
        contains the name and version of this software.

    Raises:
        UsageError: a member has another form, or a name that the message does not have.
        EncodeError: a value that the field cannot hold.

    >>> import kwire
    >>> message_of(kwire.codec("MetadataRequest", 4), ['topics:=[{"name": "orders"}]']).allow_auto_topic_creation
    False
    """
    fields = {name: field for field in codec.tree.all_fields for name in (field.json_name, str(field.name))}
    values = dict(body or {})
    for name, value in DEFAULTS.items():
        if name in fields and not {name, str(fields[name].name)} & values.keys():
            values[name] = value
    for member in members:
        match = _MEMBER.fullmatch(member)
        if match is None:
            raise UsageError(f"{member}: not a field; write NAME=TEXT or NAME:=JSON")
        field = fields.get(match["name"])
        if field is None:
            others = [
                candidate.versions
                for candidate in codec.spec.struct.fields
                if match["name"] in (candidate.name, candidate.attribute)
            ]
            hint = f"versions {others[0]} have it" if others else suggestion(match["name"], fields)
            hint = hint or f"see kwire schema {codec.name}:{codec.version}"
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
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{member}: not valid JSON: {getattr(error, 'msg', '') or json_problem(error)}") from None
