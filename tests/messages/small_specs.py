"""Small message specs, made of what a test is about and as little else as there can be."""

from __future__ import annotations

import json
from typing import Any

from kwire.schema.message_spec import MessageSpec
from kwire.schema.spec_reader import read_spec


def field(name: str = "X", type: str = "int32", versions: str = "0+", **keys: Any) -> dict[str, Any]:
    """Return a field as it stands in a spec."""
    return {"name": name, "type": type, "versions": versions, **keys}


def struct(name: str, *fields: dict[str, Any], versions: str = "0+") -> dict[str, Any]:
    """Return one of `commonStructs`."""
    return {"name": name, "versions": versions, "fields": list(fields)}


def document(*fields: dict[str, Any], valid: str = "0-3", flexible: str = "2+", **keys: Any) -> str:
    """Return the text of a spec: a message Thing of type data; further keys replace or add."""
    members = {
        "type": "data",
        "name": "Thing",
        "validVersions": valid,
        "flexibleVersions": flexible,
        "fields": list(fields),
        **keys,
    }
    return json.dumps({key: value for key, value in members.items() if value is not ...})


def spec_of(*fields: dict[str, Any], valid: str = "0-3", flexible: str = "2+", **keys: Any) -> MessageSpec:
    """Return the spec that `document` is the text of."""
    return read_spec(document(*fields, valid=valid, flexible=flexible, **keys))
