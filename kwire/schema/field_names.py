"""The names of a spec's fields in Python and in Kafka's JSON: snake case and camel case, with exceptions."""

from __future__ import annotations

import keyword
from functools import lru_cache

# (struct, field of the spec) -> attribute. The KIPs use another word than the released spec.
ATTRIBUTES: dict[tuple[str, str], str] = {
    # KIP-112 calls the field is_new_replica; Kafka released it as isNew, and its JSON form keeps that name.
    ("LeaderAndIsrPartitionState", "IsNew"): "is_new_replica",
}


def fold_name(word: str) -> str:
    """Return the same text for all spellings of a name in code, user input and Kafka's request log.

    >>> fold_name("ApiVersions") == fold_name("API_VERSIONS") == fold_name("api-versions") == fold_name("apiversions")
    True
    """
    return word.replace("_", "").replace("-", "").casefold()


@lru_cache(maxsize=8192)
def snake_case(name: str) -> str:
    """Convert a spec's name to snake case, with an underscore before a capital letter that follows no other capital.

    >>> [snake_case(name) for name in ("TopicId", "isKRaftController", "V0Host", "BrokerID")]
    ['topic_id', 'is_kraft_controller', 'v0_host', 'broker_id']
    """
    text = ""
    after_capital = True
    for character in name:
        if character.isupper() and not after_capital:
            text += "_"
        text += character.lower()
        after_capital = character.isupper()
    return text


def camel_case(name: str) -> str:
    """Convert a spec's name to its form in Kafka's JSON: the first letter is lower case.

    >>> camel_case("TopicId"), camel_case("timeoutMs"), camel_case("ISR")
    ('topicId', 'timeoutMs', 'iSR')
    """
    return name[:1].lower() + name[1:]


@lru_cache(maxsize=8192)
def attribute_for(struct: str, field: str) -> str:
    """Return the Python attribute of a field; an underscore is appended to a Python keyword.

    >>> attribute_for("MetadataResponseTopic", "TopicId")
    'topic_id'
    >>> attribute_for("LeaderAndIsrPartitionState", "IsNew")
    'is_new_replica'
    >>> attribute_for("Move", "From")
    'from_'
    """
    name = ATTRIBUTES.get((struct, field[:1].upper() + field[1:])) or snake_case(field)
    return f"{name}_" if keyword.iskeyword(name) else name
