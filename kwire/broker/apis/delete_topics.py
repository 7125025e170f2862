"""DeleteTopics: by name, or from version 6 on by id (KIP-516)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ... import messages
from ...codecs.json import uuid_text
from ...errors.refused import InvalidRequest, Refused, UnknownTopicId
from ...values import AclOperation, ResourceType
from ..authorizer import denied
from ..cluster import RequestContext
from ..topics import INTERNAL, Topic

FIRST_WITH_IDS = 6
NO_ID = bytes(16)


def delete_topics(request: RequestContext) -> Any:
    """Answer DeleteTopics; requests that wait for a deleted topic are answered, too."""
    asked = request.message
    names = [(name, NO_ID) for name in asked.topic_names]
    if request.version >= FIRST_WITH_IDS:
        names = [(row.name, row.topic_id) for row in asked.topics]
    rows = (_topic(request, *named, count > 1) for named, count in Counter(names).items())
    return messages.DeleteTopicsResponse(responses=tuple(rows))


def _topic(request: RequestContext, name: str | None, topic_id: bytes, twice: bool) -> Any:
    result = messages.DeleteTopicsResponse.DeletableTopicResult
    by_id = request.cluster.controller.by_id.get(topic_id)
    known = by_id.name if by_id is not None else name
    if not twice and known is not None and (code := request.error(known)):
        sees = request.allows(AclOperation.DESCRIBE, ResourceType.TOPIC, known) or name is not None
        return result(name=known if sees else None, topic_id=topic_id, **denied(code))
    try:
        topic = _found(request, name, topic_id, twice)
        if topic.name in INTERNAL:
            raise InvalidRequest("internal_topic", topic=topic.name)
    except Refused as error:
        return result(name=name, topic_id=topic_id, error_code=error.error_code, error_message=str(error))
    request.cluster.delete(topic)
    return result(name=topic.name, topic_id=topic.topic_id)


def _found(request: RequestContext, name: str | None, topic_id: bytes, twice: bool) -> Topic:
    if twice:
        raise InvalidRequest("in_request_twice", name=name or topic_id.hex())
    if name is not None and topic_id != NO_ID:
        raise InvalidRequest("name_and_id")
    if name is not None:
        return request.cluster.controller.known(name)
    if topic_id == NO_ID:
        raise InvalidRequest("neither_name_nor_id")
    topic = request.cluster.controller.by_id.get(topic_id)
    if topic is None:
        raise UnknownTopicId("unknown_topic_id", topic_id=uuid_text(topic_id))
    return topic
