"""The response to a request that fails as a whole: one error code, wherever the response has a place for it.

After `AbstractRequest.getErrorResponse` of Kafka's request classes: a code at the top of the response is enough; where
the version has none, each part that the request names gets the code. This module knows no handlers and no cluster.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..codecs.message_codec import codec_in
from ..codecs.wire import Array, Integer, String, Struct
from ..messages import ProduceRequest
from ..schema.catalog import Catalog
from ..values import ErrorCode
from .request_parts import api_of

# Which array of a request an array of its response answers, from the top on, where each element has an error.
PARTS: dict[str, tuple[tuple[str, str], ...]] = {
    "AddPartitionsToTxn": (
        ("results_by_topic_v3_and_below", "v3_and_below_topics"),
        ("results_by_partition", "partitions"),
    ),
    "AlterClientQuotas": (("entries", "entries"), ("entity", "entity")),
    "AlterConfigs": (("responses", "resources"),),
    "AlterPartitionReassignments": (("responses", "topics"), ("partitions", "partitions")),
    "ConsumerGroupDescribe": (("groups", "group_ids"),),
    "CreateAcls": (("results", "creations"),),
    "CreatePartitions": (("results", "topics"),),
    "CreateTopics": (("topics", "topics"),),
    "DeleteAcls": (("filter_results", "filters"),),
    "DeleteGroups": (("results", "groups_names"),),
    "DeleteRecords": (("topics", "topics"), ("partitions", "partitions")),
    "DeleteTopics": (("responses", "topics"),),
    "DescribeConfigs": (("results", "resources"),),
    "DescribeGroups": (("groups", "groups"),),
    "DescribeProducers": (("topics", "topics"), ("partitions", "partition_indexes")),
    "DescribeShareGroupOffsets": (("groups", "groups"),),
    "DescribeTopicPartitions": (("topics", "topics"),),
    "DescribeTransactions": (("transaction_states", "transactional_ids"),),
    "ElectLeaders": (("replica_election_results", "topic_partitions"), ("partition_result", "partitions")),
    "Fetch": (("responses", "topics"), ("partitions", "partitions")),
    "FindCoordinator": (("coordinators", "coordinator_keys"),),
    "IncrementalAlterConfigs": (("responses", "resources"),),
    "ListOffsets": (("topics", "topics"), ("partitions", "partitions")),
    "Metadata": (("topics", "topics"),),
    "OffsetCommit": (("topics", "topics"), ("partitions", "partitions")),
    "OffsetFetch": (("groups", "groups"), ("topics", "topics"), ("partitions", "partition_indexes")),
    "OffsetForLeaderEpoch": (("topics", "topics"), ("partitions", "partitions")),
    "Produce": (("responses", "topic_data"), ("partition_responses", "partition_data")),
    "ShareGroupDescribe": (("groups", "group_ids"),),
    "StreamsGroupDescribe": (("groups", "group_ids"),),
    "TopicMetadata": (("topics_meta_data", "topics"),),
    "TxnOffsetCommit": (("topics", "topics"), ("partitions", "partitions")),
    "WriteTxnMarkers": (("markers", "markers"), ("topics", "topics"), ("partitions", "partition_indexes")),
}
# Kafka repeats the code at the top in each part: ElectLeadersRequest, AlterPartitionReassignmentsRequest. FetchRequest
# does so before version 13, for clients that do not look at the top; MetadataRequest has had no top before version 13.
REPEATED = frozenset(("AlterPartitionReassignments", "ElectLeaders", "Metadata"))
FIRST_FETCH_WITHOUT_PARTS = 13
# The same where old versions have other arrays.
PARTS_BEFORE: dict[str, tuple[int, tuple[tuple[str, str], ...]]] = {
    "DeleteTopics": (6, (("responses", "topic_names"),)),
    "OffsetFetch": (8, (("topics", "topics"), ("partitions", "partition_indexes"))),
}
CODES = frozenset(("error_code", "partition_error_code"))
# The fields of a response that say which part of the request they answer.
IDENTITIES = frozenset(
    "entity_name entity_type feature group_id index key name partition partition_id partition_index producer_id"
    " resource_name resource_type session_id topic topic_id topic_name transactional_id user".split()
)
OTHER_NAMES = {"topic_name": "name", "partition_index": "partition"}  # of the same field in the request
# Kafka writes -1 for these, although their default is another number.
UNKNOWN = frozenset(("base_offset", "high_watermark", "low_watermark", "node_id", "port"))


def error_response(message: Any, version: int, code: int, catalog: Catalog) -> Any:
    """Return the response to a request that fails as a whole.

    Args:
        message: the request message.
        version: the version of the message.
        code: the error code.
        catalog: the specs.

    Returns:
        The response, with the code in every place that Kafka uses; None for Produce with acks=0, whose connection Kafka
        closes instead. A request that names nothing, in a version without a code at the top, has no place for it.

    >>> from kwire.messages import HeartbeatRequest
    >>> from kwire.schema.catalog import catalog_for
    >>> int(error_response(HeartbeatRequest(), 4, ErrorCode.UNKNOWN_SERVER_ERROR, catalog_for(None)).error_code)
    -1
    """
    if isinstance(message, ProduceRequest) and message.acks == 0:
        return None
    api = api_of(message)
    response = codec_in(catalog, f"{api}Response", version).tree
    repeats = api in REPEATED or (api == "Fetch" and version < FIRST_FETCH_WITHOUT_PARTS)
    if api == "AlterUserScramCredentials":  # each user once, as in AlterUserScramCredentialsRequest
        users = sorted({row.name for row in (*message.deletions, *message.upsertions)})
        return response.message_class(results=_rows(response, "results", users, code, ()))
    if api == "AlterReplicaLogDirs":  # its response has no paths
        topics = [topic for path in message.dirs for topic in path.topics]
        return response.message_class(results=_rows(response, "results", topics, code, (("partitions", "partitions"),)))
    before, parts = PARTS_BEFORE.get(api, (0, ()))
    if version >= before:
        parts = PARTS.get(api, ())
    return _fill_error(response, message, code, parts, repeats=repeats)


def _fill_error(
    node: Struct, source: Any, code: int, parts: tuple[tuple[str, str], ...], *, repeats: bool = False
) -> msgspec.Struct:
    """Return a message or an element of one with the code.

    Args:
        node: the tree of the message.
        source: the part of the request that it answers: a message, a name or a number.
        code: the error code.
        parts: the arrays below; their elements get the code if the message itself has no place for it.
        repeats: whether they get it in any case.
    """
    has_code = any(str(field.name) in CODES for field in node.fields)
    values: dict[str, Any] = {}
    for field in node.fields:
        name = str(field.name)
        if name in CODES:
            values[name] = code
        elif name == "error_message":
            values[name] = ErrorCode(code).about
        elif parts and name == parts[0][0] and (repeats or not has_code or name == "entity"):  # what failed, not how
            values[name] = _rows(node, name, getattr(source, parts[0][1], None) or (), code, parts[1:])
        elif not isinstance(field.subcon, Array):
            values |= _copy_field(field, source)
    made: msgspec.Struct = node.message_class(**values)
    return made


def _rows(
    node: Struct, name: str, sources: Iterable[Any], code: int, parts: tuple[tuple[str, str], ...]
) -> tuple[msgspec.Struct, ...]:
    """Return the elements of an array of a response, one for each part of the request."""
    array = next(field.subcon for field in node.fields if field.name == name)
    return tuple(_fill_error(array.element, source, code, parts) for source in sources)


def _copy_field(field: Any, source: Any) -> dict[str, Any]:
    """Return a field that says which part of the request failed, or an unknown number; nothing for other fields."""
    name, node = str(field.name), field.subcon
    if name in IDENTITIES:
        if isinstance(source, int if isinstance(node, Integer) else str):
            return {name: source}  # a number or a name without fields
        value = getattr(source, name, getattr(source, OTHER_NAMES.get(name, name), None))
        if value is not None or getattr(node, "nullable", False):
            return {name: value}
    if name in UNKNOWN:
        return {name: -1}
    # No null where the version has none: the name in Metadata v10 and v11, the protocol in JoinGroup below v7.
    return {name: ""} if isinstance(node, String) and not node.nullable else {}
