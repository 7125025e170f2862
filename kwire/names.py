"""How a field of a spec is called in Python and in JSON.

One rule each way; what differs from the rule stands in a table with its reason.
"""

from __future__ import annotations

import keyword

# (struct, field of the spec) -> attribute. The founding documents have another word than the released spec.
ATTRIBUTES: dict[tuple[str, str], str] = {
    # KIP-112 calls the field is_new_replica; Kafka released it as isNew, and its JSON form keeps that name.
    ("LeaderAndIsrPartitionState", "IsNew"): "is_new_replica",
}

# (struct, JSON name) that some releases wrote -> JSON name now. Accepted when JSON is read.
FORMER_NAMES: dict[tuple[str, str], str] = {
    # Called so up to Kafka 3.2, when the epoch still was the version of a ZooKeeper node.
    ("LeaderAndIsrPartitionState", "zkVersion"): "partitionEpoch",
}


def snake_case(name: str) -> str:
    """Write a spec's name as Kafka's schemas do: an underscore before a capital that follows no capital.

    >>> [snake_case(name) for name in ("TopicId", "isKRaftController", "V0Host", "BrokerID")]
    ['topic_id', 'is_kraft_controller', 'v0_host', 'broker_id']
    """
    text, after_capital = "", True
    for character in name:
        if character.isupper() and not after_capital:
            text += "_"
        text += character.lower()
        after_capital = character.isupper()
    return text


def camel_case(name: str) -> str:
    """Write a spec's name as Kafka's JSON does: the first letter small.

    >>> camel_case("TopicId"), camel_case("timeoutMs"), camel_case("ISR")
    ('topicId', 'timeoutMs', 'iSR')
    """
    return name[:1].lower() + name[1:]


def attribute_for(struct: str, field: str) -> str:
    """Return the Python attribute of a field; a Python keyword gets an underscore behind it.

    >>> attribute_for("MetadataResponseTopic", "TopicId")
    'topic_id'
    >>> attribute_for("LeaderAndIsrPartitionState", "IsNew")
    'is_new_replica'
    >>> attribute_for("Move", "From")
    'from_'
    """
    name = ATTRIBUTES.get((struct, field[:1].upper() + field[1:])) or snake_case(field)
    return f"{name}_" if keyword.iskeyword(name) else name
