"""DeleteTopics: deletes topics by name or id."""

from __future__ import annotations

from collections import Counter

from .... import messages
from ....codecs.json_writer import uuid_text
from ....errors.refused import InvalidRequest, Refused, UnknownTopicId
from ....values import AclOperation, ErrorCode, ResourceType
from ...api import ServedApi
from ...controller.topic import NO_TOPIC_ID, Topic
from ...controller.topic_names import INTERNAL
from ...request_context import RequestContext

FIRST_WITH_DISABLED = 3  # the first version of DeleteTopics with TOPIC_DELETION_DISABLED (KIP-322)
FIRST_WITH_IDS = 6  # the first version of DeleteTopics with topic ids (KIP-516)


def delete_topics(request: RequestContext[messages.DeleteTopicsRequest]) -> messages.DeleteTopicsResponse:
    """Handle DeleteTopics; this also completes requests that wait for a deleted topic."""
    # Kafka: ControllerApis.deleteTopics, ReplicationControlManager.deleteTopics
    message = request.message
    if not request.cluster.settings.delete_topics:
        is_old = request.version < FIRST_WITH_DISABLED
        return request.failed(ErrorCode.INVALID_REQUEST if is_old else ErrorCode.TOPIC_DELETION_DISABLED)
    names: list[tuple[str | None, bytes]] = [(name, NO_TOPIC_ID) for name in message.topic_names]
    if request.version >= FIRST_WITH_IDS:
        names = [(row.name, row.topic_id) for row in message.topics]
    rows = (_delete(request, *named, count > 1) for named, count in Counter(names).items())
    return messages.DeleteTopicsResponse(responses=tuple(rows))


def _delete(
    request: RequestContext[messages.DeleteTopicsRequest], name: str | None, topic_id: bytes, twice: bool
) -> messages.DeleteTopicsResponse.DeletableTopicResult:
    result = messages.DeleteTopicsResponse.DeletableTopicResult
    by_id = request.cluster.controller.by_id.get(topic_id)
    known = by_id.name if by_id is not None else name
    if not twice and known is not None and (code := request.error(known)):
        sees = request.allows(AclOperation.DESCRIBE, ResourceType.TOPIC, known) or name is not None
        return result(name=known if sees else None, topic_id=topic_id, **request.describe_denial(code))
    try:
        topic = _topic_to_delete(request, name, topic_id, twice)
        if topic.name in INTERNAL:
            raise InvalidRequest("internal_topic", topic=topic.name)
    except Refused as error:
        return result(name=name, topic_id=topic_id, error_code=error.error_code, error_message=str(error))
    request.cluster.delete(topic)
    return result(name=topic.name, topic_id=topic.topic_id)


def _topic_to_delete(
    request: RequestContext[messages.DeleteTopicsRequest], name: str | None, topic_id: bytes, twice: bool
) -> Topic:
    if twice:
        raise InvalidRequest("in_request_twice", name=name or topic_id.hex())
    if name is not None and topic_id != NO_TOPIC_ID:
        raise InvalidRequest("name_and_id")
    if name is not None:
        return request.cluster.controller.known(name)
    if topic_id == NO_TOPIC_ID:
        raise InvalidRequest("neither_name_nor_id")
    topic = request.cluster.controller.by_id.get(topic_id)
    if topic is None:
        raise UnknownTopicId("unknown_topic_id", topic_id=uuid_text(topic_id))
    return topic


APIS = {  # what each version has changed
    # 1: the throttle time (KIP-124)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: TOPIC_DELETION_DISABLED (KIP-322)
    # 4: flexible (KIP-482)
    # 5: error messages, and THROTTLING_QUOTA_EXCEEDED (KIP-599)
    # 6: topic ids, too (KIP-516)
    "DeleteTopics": ServedApi(0, 6, delete_topics),
}
