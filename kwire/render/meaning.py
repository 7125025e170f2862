"""What a number in a message means: the name that `kwire.values` has for it, found by its field."""

from __future__ import annotations

import re
from typing import Any

from ..codecs import Codec
from ..field_plan import places_in
from ..values import Value, kind_of

_INDEX = re.compile(r"\[\d+\]")


class Meaning:
    """Names for the numbers of one message, by the paths of its spans; asks for each field once.

    Args:
        codec: of the message; None knows no names.

    >>> import kwire
    >>> Meaning(kwire.codec("MetadataResponse", 1)).name("topics[3].error_code", 3)
    'UNKNOWN_TOPIC_OR_PARTITION'
    """

    def __init__(self, codec: Codec | None) -> None:
        self.codec = codec
        self._kinds: dict[str, type[Value] | None] = {}

    def name(self, path: str, value: Any) -> str:
        """Return the name of a number, or nothing where it has none."""
        if self.codec is None or not isinstance(value, int) or isinstance(value, bool):
            return ""
        if path == "header.request_api_key":
            return self.codec.spec.api_name
        field = _INDEX.sub("", path)
        if field not in self._kinds:
            place = places_in(self.codec).get(field)
            self._kinds[field] = place and kind_of(place.message, place.owner, place.field.json_name)
        return name_of(self._kinds[field], value)


def name_of(kind: type[Value] | None, value: Any) -> str:
    """Return a number's name in a kind of values, or nothing."""
    return (kind(value).name or "") if kind is not None else ""
