"""The served apis with their versions and handlers, and the sans-IO server: it decodes frames into requests, and
encodes responses, some of them later, into frames.

One message class covers all versions, so handlers rarely depend on the version. The caller passes the time and a random
generator. After an invalid request the connection must be closed, as in Kafka; the exception is ApiVersions, which
always gets a response (KIP-511).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from ...codecs import codec_in
from ...errors import TooLong
from ...protocol import Frame, Request, Undecodable, encode_response
from ...protocol.frame_codec import FrameReading
from ...protocol.framing import int16, int32
from ...spec.catalog import Catalog
from ...spec.releases import Release, release, releases
from ...values import ErrorCode
from ..authentication_and_acls import ANONYMOUS
from ..cluster_state import Api, Cluster, RequestContext
from ..faults import api_of, has_code
from ..settings_and_quotas import Node, Settings
from .classic_groups import (
    delete_groups,
    describe_groups,
    find_coordinator,
    heartbeat,
    join_group,
    leave_group,
    list_groups,
    sync_group,
)
from .configs_and_quotas import (
    alter_client_quotas,
    alter_configs,
    describe_client_quotas,
    describe_configs,
    get_telemetry_subscriptions,
    incremental_alter_configs,
    list_config_resources,
    push_telemetry,
)
from .consumer_groups_and_offsets import (
    consumer_group_describe,
    consumer_group_heartbeat,
    list_offsets,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
)
from .metadata import (
    add_raft_voter,
    api_versions,
    describe_cluster,
    describe_quorum,
    describe_topic_partitions,
    metadata,
    remove_raft_voter,
    topic_metadata,
    unregister_broker,
    update_features,
    versions_response,
)
from .produce_and_fetch import fetch, produce
from .security import (
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    delete_acls,
    describe_acls,
    describe_delegation_token,
    describe_user_scram_credentials,
    expire_delegation_token,
    renew_delegation_token,
    sasl_authenticate,
    sasl_handshake,
)
from .share_groups import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    describe_share_group_offsets,
    share_acknowledge,
    share_fetch,
    share_group_describe,
    share_group_heartbeat,
)
from .topics import (
    alter_partition_reassignments,
    alter_replica_log_dirs,
    create_partitions,
    create_replica_assignment,
    create_topics,
    delete_records,
    delete_topics,
    describe_log_dirs,
    elect_leaders,
    list_partition_reassignments,
)
from .transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    describe_producers,
    describe_transactions,
    end_txn,
    init_producer_id,
    list_transactions,
    txn_offset_commit,
    write_txn_markers,
)

APIS: dict[str, Api] = {
    # Versions 0 to 2 are rejected per batch: some clients read a higher minimum as "no compression" (KAFKA-18659).
    "Produce": Api(0, 13, produce, finds_errors=True),
    "Fetch": Api(4, 18, fetch, finds_errors=True),
    "ListOffsets": Api(1, 10, list_offsets, finds_errors=True),
    "Metadata": Api(0, 13, metadata, finds_errors=True),
    "CreateTopics": Api(0, 7, create_topics),
    "DeleteTopics": Api(0, 6, delete_topics),
    "CreatePartitions": Api(0, 3, create_partitions),
    "DescribeCluster": Api(0, 2, describe_cluster),
    "DescribeConfigs": Api(0, 4, describe_configs),
    "IncrementalAlterConfigs": Api(0, 1, incremental_alter_configs),
    "DescribeLogDirs": Api(0, 5, describe_log_dirs),
    "FindCoordinator": Api(0, 6, find_coordinator, finds_errors=True),
    "JoinGroup": Api(0, 9, join_group, finds_errors=True),
    "SyncGroup": Api(0, 5, sync_group, finds_errors=True),
    "Heartbeat": Api(0, 4, heartbeat, finds_errors=True),
    "LeaveGroup": Api(0, 5, leave_group, finds_errors=True),
    "OffsetCommit": Api(0, 10, offset_commit, finds_errors=True),
    "OffsetFetch": Api(0, 10, offset_fetch, finds_errors=True),
    "ListGroups": Api(0, 5, list_groups),
    "DescribeGroups": Api(0, 6, describe_groups, finds_errors=True),
    "DeleteGroups": Api(0, 3, delete_groups, finds_errors=True),
    "InitProducerId": Api(0, 5, init_producer_id),
    "ApiVersions": Api(0, 4, api_versions),
    "ConsumerGroupHeartbeat": Api(0, 1, consumer_group_heartbeat, finds_errors=True),
    "ConsumerGroupDescribe": Api(0, 1, consumer_group_describe, finds_errors=True),
    "ShareGroupHeartbeat": Api(1, 1, share_group_heartbeat, finds_errors=True),
    "ShareGroupDescribe": Api(1, 1, share_group_describe, finds_errors=True),
    "ShareFetch": Api(1, 2, share_fetch, finds_errors=True),
    "ShareAcknowledge": Api(1, 2, share_acknowledge, finds_errors=True),
    "DescribeShareGroupOffsets": Api(0, 1, describe_share_group_offsets, finds_errors=True),
    "AlterShareGroupOffsets": Api(0, 0, alter_share_group_offsets, finds_errors=True),
    "DeleteShareGroupOffsets": Api(0, 0, delete_share_group_offsets, finds_errors=True),
    "DescribeQuorum": Api(0, 2, describe_quorum),
    "UpdateFeatures": Api(0, 2, update_features),
    "UnregisterBroker": Api(0, 0, unregister_broker),
    "AddRaftVoter": Api(0, 0, add_raft_voter),
    "RemoveRaftVoter": Api(0, 0, remove_raft_voter),
    "GetTelemetrySubscriptions": Api(0, 0, get_telemetry_subscriptions, is_advertised=False),
    "PushTelemetry": Api(0, 0, push_telemetry, is_advertised=False),
    "ListConfigResources": Api(0, 1, list_config_resources),
    "DescribeAcls": Api(1, 3, describe_acls),
    "CreateAcls": Api(1, 3, create_acls),
    "DeleteAcls": Api(1, 3, delete_acls),
    "CreateDelegationToken": Api(1, 3, create_delegation_token),
    "RenewDelegationToken": Api(1, 2, renew_delegation_token),
    "ExpireDelegationToken": Api(1, 2, expire_delegation_token),
    "DescribeDelegationToken": Api(1, 3, describe_delegation_token),
    "DescribeClientQuotas": Api(0, 1, describe_client_quotas),
    "AlterClientQuotas": Api(0, 1, alter_client_quotas),
    "SaslHandshake": Api(0, 1, sasl_handshake),
    "SaslAuthenticate": Api(0, 2, sasl_authenticate),
    "DescribeUserScramCredentials": Api(0, 0, describe_user_scram_credentials),
    "AlterUserScramCredentials": Api(0, 0, alter_user_scram_credentials),
    "DeleteRecords": Api(0, 2, delete_records, finds_errors=True),
    "AlterConfigs": Api(0, 2, alter_configs),
    "OffsetDelete": Api(0, 0, offset_delete, finds_errors=True),
    "ElectLeaders": Api(0, 2, elect_leaders, finds_errors=True),
    "AlterPartitionReassignments": Api(0, 1, alter_partition_reassignments, finds_errors=True),
    "ListPartitionReassignments": Api(0, 0, list_partition_reassignments),
    "AlterReplicaLogDirs": Api(1, 2, alter_replica_log_dirs, finds_errors=True),
    "OffsetForLeaderEpoch": Api(2, 4, offset_for_leader_epoch, finds_errors=True),
    "DescribeTopicPartitions": Api(0, 0, describe_topic_partitions, finds_errors=True),
    "AddPartitionsToTxn": Api(0, 5, add_partitions_to_txn, finds_errors=True),
    "AddOffsetsToTxn": Api(0, 4, add_offsets_to_txn),
    "TxnOffsetCommit": Api(0, 6, txn_offset_commit, finds_errors=True),
    "EndTxn": Api(0, 5, end_txn),
    "WriteTxnMarkers": Api(1, 2, write_txn_markers, finds_errors=True),
    "DescribeTransactions": Api(0, 0, describe_transactions, finds_errors=True),
    "ListTransactions": Api(0, 2, list_transactions),
    "DescribeProducers": Api(0, 0, describe_producers, finds_errors=True),
}
# Brokers with ZooKeeper do not serve these apis. KRaft became production-ready with Kafka 3.3.
OF_KRAFT = frozenset(("DescribeQuorum", "UnregisterBroker", "AddRaftVoter", "RemoveRaftVoter"))
FIRST_WITHOUT_OLD_FORMATS = "4.0.2"
FIRST_WITH_KRAFT = "3.3.2"
DRAFTS: dict[str, dict[str, Api]] = {  # by profile
    "KIP-36": {"TopicMetadata": Api(1, 1, topic_metadata, finds_errors=True)},
    "KIP-879": {"CreateReplicaAssignment": Api(0, 0, create_replica_assignment)},
}


def table_for(settings: Settings) -> dict[str, Api]:
    """Return the served apis by name, limited to those of the release in the settings.

    Raises:
        UnknownMessage: the release in the settings is unknown.
    """
    drafts = DRAFTS.get(settings.profile or "", {})
    return (APIS if settings.release is None else _spoken(release(settings.release))) | drafts


def _spoken(spoken: Release) -> dict[str, Api]:
    """Return the served apis of a release, with the versions that both support."""
    names = releases().names
    is_kraft = names.index(spoken.name) >= names.index(FIRST_WITH_KRAFT)
    found = {}
    for name, api in APIS.items():
        if name in OF_KRAFT and not is_kraft:
            continue
        shared = [one for one in spoken.stable_versions(name) if api.first <= one <= api.last]
        if shared:
            found[name] = api._replace(first=min(shared), last=max(shared))
    if names.index(spoken.name) >= names.index(FIRST_WITHOUT_OLD_FORMATS):
        # Kafka lists versions of Produce that it refuses: librdkafka before 2.8 compresses only if they are there
        found["Produce"] = found["Produce"]._replace(first=APIS["Produce"].first)
    return found


API_VERSIONS = 18
MOST_QUOTED = 1000  # characters of an error message that is cut


class ServedCluster(Cluster):
    """A cluster whose brokers handle requests.

    Args:
        nodes: the brokers, at least one.
        settings: the settings of all brokers.
        rng: the random generator for ids and replica placement.

    >>> from random import Random
    >>> from kwire import messages
    >>> cluster = ServedCluster([Node(1)], Settings(), Random(1))
    >>> found = cluster.answer(1, messages.MetadataRequest(topics=None), 12, now=0.0)
    >>> [broker.node_id for broker in found.brokers], found.topics
    ([1], ())
    """

    def __init__(self, nodes: Sequence[Node], settings: Settings, rng: Random) -> None:
        super().__init__(nodes, settings, rng, table_for(settings))

    def answer(
        self,
        node_id: int,
        message: Any,
        version: int,
        *,
        now: float,
        client_id: str = "",
        client_host: str = "",
        principal: str = ANONYMOUS,
    ) -> Any:
        """Handle a request to one of the brokers.

        Args:
            node_id: the id of the broker.
            message: the request message, of a served api and version.
            version: the version of the message.
            now: the time, in seconds.
            client_id, client_host: the client's id and its address.
            principal: the authenticated principal.

        Returns:
            The response; a `Parked` that will have it; or None without response (Produce with acks=0).
        """
        return self.handle(RequestContext(self, node_id, message, version, now, client_id, client_host, principal))

    def handle(self, request: RequestContext) -> Any:
        """Handle a request, as `answer` does; an error rule for the whole request replaces the handler."""
        name = api_of(request.message)
        api = self.table[name]
        with self.controller.journals.batched():
            if not api.finds_errors and (code := request.error()) and has_code(name):
                return request.failed(code)
            return api.handler(request)


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A decoded request: its message, and the header fields that the response needs."""

    message: Any
    version: int
    correlation_id: int
    client_id: str


@dataclass(frozen=True, slots=True)
class Unserved:
    """A frame that is not served. `answer` contains the bytes to send; if it is empty, the connection is closed because
    of `problem`."""

    answer: bytes = b""
    problem: str = ""


def read_request(frame: Frame, catalog: Catalog, apis: dict[int, Api]) -> ServedRequest | Unserved:
    """Decode a request frame.

    Args:
        frame: one complete frame.
        catalog: the specs.
        apis: the served apis, by key.
    """
    api_key, version = int16(frame.data, 4), int16(frame.data, 6)
    api = apis.get(api_key)
    if api is None:
        return Unserved(problem=f"api key {api_key} is not served")
    if not api.first <= version <= api.last:
        return _unsupported(frame, catalog, apis, f"version {version} of api key {api_key} is not served")
    spec = catalog.find(api_key, "request", version)
    assert spec is not None
    read = FrameReading(frame, catalog, salvage=True, trace=False).request(codec_in(catalog, spec.name, version))
    if isinstance(read, Undecodable):
        return Unserved(problem=str(read.error))
    assert isinstance(read, Request)
    return ServedRequest(read.message, version, read.correlation_id or 0, getattr(read.header, "client_id", None) or "")


def write_response(request: ServedRequest, response: Any, catalog: Catalog) -> bytes:
    """Encode the response to a request; in the draft of KIP-36, the body contains the correlation id.

    An error that quotes names of the request can be longer than any text of the protocol, and is cut.
    """
    if hasattr(response, "correlation_id"):
        response = msgspec.structs.replace(response, correlation_id=request.correlation_id)
    try:
        return encode_response(response, request.version, correlation_id=request.correlation_id, catalog=catalog)
    except TooLong:
        response = _with_short_errors(response)
        return encode_response(response, request.version, correlation_id=request.correlation_id, catalog=catalog)


def _with_short_errors(message: Any) -> Any:
    """Return a message, or a part of one, with its error messages cut."""
    if isinstance(message, tuple):
        return tuple(_with_short_errors(part) for part in message)
    if not isinstance(message, msgspec.Struct):
        return message
    changes = {name: _with_short_errors(getattr(message, name)) for name in message.__struct_fields__}
    for name, value in changes.items():
        if name.endswith("error_message") and isinstance(value, str) and len(value) > MOST_QUOTED:
            changes[name] = f"{value[:MOST_QUOTED]}..."
    return msgspec.structs.replace(message, **changes)


def _unsupported(frame: Frame, catalog: Catalog, apis: dict[int, Api], problem: str) -> Unserved:
    if int16(frame.data, 4) != API_VERSIONS or len(frame.data) < 12:
        return Unserved(problem=problem)
    response = versions_response(apis, ErrorCode.UNSUPPORTED_VERSION)
    return Unserved(encode_response(response, 0, correlation_id=int32(frame.data, 8), catalog=catalog))
