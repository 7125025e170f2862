"""Which requests get no response: Produce with acks=0."""

from __future__ import annotations

from typing import Any

from ...codecs.message_codec import Codec

# Requests without a response: message -> (attribute, value).
UNANSWERED: dict[str, tuple[str, Any]] = {
    "ProduceRequest": ("acks", 0),  # the producer requests no acknowledgement
}
ALL_REPLICAS = -1  # a value of acks
LEADER_ONLY = 1


def expects_response(message: Any) -> bool:
    """Whether a request gets a response.

    >>> from kwire import messages
    >>> expects_response(messages.ProduceRequest(acks=0)), expects_response(messages.ProduceRequest(acks=1))
    (False, True)
    """
    attribute, value = UNANSWERED.get(type(message).__name__, ("", None))
    return not attribute or bool(getattr(message, attribute) != value)


def list_prefixes(codec: Codec, *, answered: bool, message: Any = None) -> tuple[bytes, ...]:
    """Return the possible first bytes of request bodies that certainly get a response, or certainly get none.

    The tuple is empty if all requests get a response. Other requests must be decoded. With `message`, bodies have
    its fields before the one that decides, such as the transactional id; else those have their defaults.

    >>> from kwire import codec
    >>> [[p.hex() for p in list_prefixes(codec("ProduceRequest", 9), answered=answered)] for answered in (True, False)]
    [['00ffff', '000001'], ['000000']]
    >>> list_prefixes(codec("MetadataRequest", 1), answered=True)
    ()
    """
    if codec.name not in UNANSWERED:
        return ()
    attribute, unanswered = UNANSWERED[codec.name]
    prefixes = []
    for value in (ALL_REPLICAS, LEADER_ONLY) if answered else (unanswered,):
        names = codec.message_class.__struct_fields__
        before = {} if message is None else {name: getattr(message, name) for name in names[: names.index(attribute)]}
        body = codec.encode(codec.message_class(**before, **{attribute: value}))
        stop = next(span.stop for span in codec.trace(body) if span.path == attribute)
        prefixes.append(body[:stop])
    return tuple(prefixes)
