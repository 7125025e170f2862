"""StreamsGroupTopologyDescriptionUpdate: the description of a topology, which a broker's plugin stores (KIP-1331)."""

from __future__ import annotations

from typing import TypeAlias

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...request_context import RequestContext

Update: TypeAlias = "RequestContext[messages.StreamsGroupTopologyDescriptionUpdateRequest]"


def streams_group_topology_description_update(
    request: Update,
) -> messages.StreamsGroupTopologyDescriptionUpdateResponse:
    """Refuse the description, as Kafka does whose broker has no plugin, whatever the group and the member are."""
    # Kafka 4.4.0 answered so to every request; the config group.streams.topology.description.plugin.class was not set.
    problem = "this broker has no plugin that stores descriptions of topologies"
    return messages.StreamsGroupTopologyDescriptionUpdateResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, error_message=problem
    )


APIS = {"StreamsGroupTopologyDescriptionUpdate": ServedApi(0, 0, streams_group_topology_description_update)}
