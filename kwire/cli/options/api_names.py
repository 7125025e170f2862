"""Apis that arguments name by key, by name or by a part of a name."""

from __future__ import annotations

import re

from ...errors import UnknownMessage
from ...schema.field_names import fold_name
from ...schema.releases import ReleasedApi, releases
from .message_names import name_and_version


def found_apis(names: list[str]) -> list[ReleasedApi]:
    """Return the apis with the given keys, names or parts of names; all apis if no names are given."""
    apis = [api for _, api in sorted(releases().apis.items())]
    apis_by_key = {} if names else {api.key: api for api in apis}
    for text in names:
        name = name_and_version(text)[0]
        name = name if name.isdecimal() else re.sub("(?i)(?<=.)(request|response)$", "", name)
        exact = {api.key: api for api in apis if api.is_named(name)}
        near = exact or {api.key: api for api in apis if fold_name(name) in fold_name(api.name)}
        if not near:
            raise UnknownMessage("api", text, [api.name for api in apis])
        apis_by_key |= near
    return [apis_by_key[key] for key in sorted(apis_by_key)]
