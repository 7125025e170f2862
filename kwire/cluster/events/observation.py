"""An observed message: which messages a model of a cluster uses, and where one was captured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...codecs.message_codec import Codec
from ...protocol import Request, Response, Result
from ...protocol.message_summary import is_of_metadata_log
from .draft_names import RELEASED, Body, body_of

CONTROLLER = "LeaderAndIsrRequest", "UpdateMetadataRequest", "StopReplicaRequest"
ANSWERS = "LeaderAndIsrResponse", "UpdateMetadataResponse", "StopReplicaResponse"
VIEWS = "MetadataResponse", "DescribeTopicPartitionsResponse", "DescribeClusterResponse"
DIRECTORIES = "BrokerHeartbeatRequest", "BrokerRegistrationRequest", "AssignReplicasToDirsRequest"
REASSIGNMENTS = (
    "AlterPartitionReassignmentsRequest",
    "AlterPartitionReassignmentsResponse",
    "ListPartitionReassignmentsResponse",
)
LOG = "FetchResponse", "FetchSnapshotResponse"  # responses with parts of the metadata log
OTHERS = "AlterPartitionResponse", "DescribeLogDirsResponse", "DescribeConfigsResponse", "DescribeQuorumResponse"
MESSAGES = (
    *CONTROLLER,
    *ANSWERS,
    *VIEWS,
    *DIRECTORIES,
    *REASSIGNMENTS,
    *LOG,
    *OTHERS,
)  # the messages that a model uses


@dataclass(frozen=True, slots=True)
class Observation:
    """One message of `MESSAGES`.

    Attributes:
        message: the decoded body, which may be of a draft's class; None if it could not be decoded.
        codec: the codec of the message; for a released message the version is enough.
        time: seconds since 1970; None if unknown.
        client, broker: the endpoints of the connection as `ip:port`; empty if unknown.
        correlation_id: the correlation id in the header.
        file: the file that contains the message.
    """

    message: Any
    codec: Codec | int
    time: float | None = None
    client: str = ""
    broker: str = ""
    correlation_id: int | None = None
    file: str = ""

    @property
    def name(self) -> str:
        """The name of the released message, such as `UpdateMetadataRequest`."""
        name = self.codec.name if isinstance(self.codec, Codec) else type(self.message).__name__
        return RELEASED.get(name, name)

    @property
    def body(self) -> Body:
        """The message with its released names, and the fields that it carries."""
        return body_of(self.message, self.codec)

    @property
    def connection(self) -> str:
        """The identity of the connection."""
        return f"{self.client}>{self.broker}"


def observed(result: Result) -> Observation | None:
    """Return the observation in a decoded frame, also inside an Envelope (KIP-590); None for irrelevant frames."""
    if not isinstance(result, Request | Response):
        return None
    source = result.frame.source
    inside = result.inside
    forwarded = inside if isinstance(inside, Request | Response) else result
    observation = Observation(
        forwarded.message,
        forwarded.codec,
        source.time,
        source.client or "",
        source.broker or "",
        result.correlation_id,
        source.file or "",
    )
    if observation.name not in MESSAGES or (observation.name in LOG and not is_of_metadata_log(observation.message)):
        return None
    return observation
