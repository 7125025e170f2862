"""Names for the numbers of a message, such as error codes."""

from __future__ import annotations

from typing import Any

from ..codecs.field_search import field_locations
from ..codecs.message_codec import Codec
from ..runtime.lazy_patterns import lazy_pattern
from ..values import Value, kind_of

_INDEX = lazy_pattern(r"\[\d+\]")


class EnumNames:
    """Names for the numbers of one message, by the paths of its spans; each field is looked up once.

    Args:
        codec: the codec of the message; None means no names.

    >>> import kwire
    >>> EnumNames(kwire.codec("MetadataResponse", 1)).name("topics[3].error_code", 3)
    'UNKNOWN_TOPIC_OR_PARTITION'
    """

    def __init__(self, codec: Codec | None) -> None:
        self.codec = codec
        self._kinds: dict[str, type[Value] | None] = {}

    def name(self, path: str, value: Any) -> str:
        """Return the name of a number; an empty string if it has none."""
        if self.codec is None or not isinstance(value, int) or isinstance(value, bool):
            return ""
        if path == "header.request_api_key":
            return self.codec.spec.api_name
        field = _INDEX.sub("", path)
        if field not in self._kinds:
            location = field_locations(self.codec).get(field)
            self._kinds[field] = location and kind_of(location.message, location.owner, location.field.json_name)
        return name_of(self._kinds[field], value)


def name_of(kind: type[Value] | None, value: Any) -> str:
    """Return the name of a number in an enum; an empty string if it has none."""
    return (kind(value).name or "") if kind is not None else ""
