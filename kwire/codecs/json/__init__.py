"""Messages to and from Kafka's JSON form, as its generated converters write it, made lossless.

One walk over the tree in each direction. Beyond Kafka's: records are base64 where Kafka writes an empty
string, and unknown tagged fields stand under `_unknownTags` as [{"tag": 99, "data": base64}].
"""

from .reader import Place, from_json, unknown_tags
from .writer import UNKNOWN_TAGS, JsonWriter, json_writer, to_json, unknown_tags_json, uuid_text

__all__ = [
    "UNKNOWN_TAGS",
    "JsonWriter",
    "Place",
    "from_json",
    "json_writer",
    "to_json",
    "unknown_tags",
    "unknown_tags_json",
    "uuid_text",
]
