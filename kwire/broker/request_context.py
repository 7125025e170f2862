"""A request to a served cluster, with what its handler needs: who sent it, what it may do, which errors it gets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct

from .. import messages
from ..values import AclOperation, ErrorCode, ResourceType
from .cluster import BrokerCluster
from .controller.partition import Partition
from .error_responses import error_response
from .fault_rules import ERROR, FaultRule
from .log.replica_log import ReplicaLog
from .request_parts import api_of
from .security.api_permissions import CLUSTER_NAME, denial
from .security.principals import ANONYMOUS
from .security.sasl_session import SaslSession

if TYPE_CHECKING:
    from ..messages import RequestMessage

READ_ONLY = "the log directories are read only (--read-only)"
# Requests that read-only log directories refuse. Groups still work: commits are kept in memory only.
WRITING = frozenset(
    "AddOffsetsToTxn AddPartitionsToTxn AddRaftVoter AlterClientQuotas AlterConfigs AlterPartitionReassignments"
    " AlterReplicaLogDirs AlterUserScramCredentials CreateAcls CreatePartitions CreateTopics DeleteAcls DeleteRecords"
    " DeleteTopics ElectLeaders EndTxn IncrementalAlterConfigs InitProducerId Produce RemoveRaftVoter TxnOffsetCommit"
    " UnregisterBroker UpdateFeatures WriteTxnMarkers".split()
)
FIRST_OF_BROKERS = 4  # the first version of AddPartitionsToTxn that only brokers send (KIP-890)


Message_co = TypeVar("Message_co", covariant=True)
Response = TypeVar("Response", bound=Struct)


class RequestContext(Struct, Generic[Message_co], frozen=True, eq=False):
    """A request to a served cluster, with its context; the type argument is the class of its message.

    Attributes:
        cluster: the cluster.
        node_id: the broker that received the request.
        message: the request message.
        version: the version of the message.
        now: the time of receipt, in seconds of an arbitrary clock.
        client_id, client_host: the client's id and its address.
        principal: the authenticated principal, such as `User:alice`.
        session: the authentication state of the connection.
        fault: the fault that chaos has chosen for this request alone.
    """

    cluster: BrokerCluster
    node_id: int
    message: Message_co
    version: int
    now: float
    client_id: str
    client_host: str
    principal: str = ANONYMOUS
    session: SaslSession | None = None
    fault: FaultRule | None = None

    def error(
        self,
        topic: str | None = None,
        partition: int | None = None,
        group: str | None = None,
        transactional_id: str | None = None,
    ) -> int:
        """Return the error code for a part of this request: if the principal is not authorized, if the request would
        write to read-only log directories, or if a test's rule applies; 0 if the part may be handled."""
        if self.cluster.authorizer is not None and (code := self._denial(topic, group, transactional_id)):
            return code
        if self.cluster.settings.read_only and self._is_refused:
            return ErrorCode.POLICY_VIOLATION
        if self.fault is not None and self.fault.action == ERROR:
            return self.fault.code
        if not self.cluster.rules.active:
            return ErrorCode.NONE
        return self.cluster.rules.error(self, topic, partition, transactional_id if group is None else group)

    def failed(self: RequestContext[RequestMessage[Response]], code: int) -> Response:
        """Return the response to a request that fails as a whole."""
        response: Response = error_response(self.message, self.version, code, self.cluster.catalog)
        return response

    def _denial(self, topic: str | None, group: str | None, transactional_id: str | None) -> int:
        """Return the error code if the principal is not authorized for a part of this request; 0 if it is."""
        api = api_of(self.message)
        may_act = partial(self.allows, AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
        if api == "Fetch" and self.follower_id >= 0:  # KafkaApis.handleFetchRequest: a follower needs no READ
            return ErrorCode.NONE if may_act() else ErrorCode.TOPIC_AUTHORIZATION_FAILED
        if api == "AddPartitionsToTxn" and self.version >= FIRST_OF_BROKERS:  # handleAddPartitionsToTxnRequest
            return ErrorCode.NONE if may_act() else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        if api == "OffsetForLeaderEpoch" and may_act():  # handleOffsetForLeaderEpochRequest: followers, or DESCRIBE
            return ErrorCode.NONE
        return denial(self.allows, api, topic, group, transactional_id)

    @property
    def follower_id(self) -> int:
        """The broker that fetches; -1 or less for consumers. From v15 on, it is tagged (KIP-903)."""
        message = self.message
        assert isinstance(message, messages.FetchRequest)
        return max(message.replica_id, message.replica_state.replica_id)

    def find_led(self, topic: str, index: int, leader_epoch: int = -1) -> tuple[Partition, ReplicaLog] | int:
        """Return a partition that the broker leads, with its log; otherwise an error code.

        Args:
            topic, index: the partition.
            leader_epoch: the leader epoch in the request; -1 for any.
        """
        partition, code = self.cluster.controller.partition(topic, index), self.error(topic, index)
        if partition is None or code:
            return code or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        log = partition.log_at(self.node_id, leader_epoch)
        return log if isinstance(log, int) else (partition, log)

    @property
    def _is_refused(self) -> bool:
        return self.cluster.settings.read_only and api_of(self.message) in WRITING

    def describe_denial(self, code: int) -> dict[str, Any]:
        """Return the fields of a response row for an error code of `error`."""
        is_read_only = code == ErrorCode.POLICY_VIOLATION and self._is_refused
        return {"error_code": code, "error_message": READ_ONLY if is_read_only else ErrorCode(code).about}

    def allows(self, operation: int, resource_type: int, name: str) -> bool:
        """Return whether the ACLs allow the principal to perform an operation on a resource."""
        authorizer = self.cluster.authorizer
        return authorizer is None or authorizer.allows(self.principal, self.client_host, operation, resource_type, name)

    def may_create(self, topic: str) -> bool:
        """Return whether the principal may create a topic: with CREATE on the cluster or on the topic (KIP-277)."""
        may = self.allows(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
        return may or self.allows(AclOperation.CREATE, ResourceType.TOPIC, topic)
