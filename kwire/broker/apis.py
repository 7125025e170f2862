"""Which apis are served, in which versions, by which handler; and ApiVersions, which tells clients.

Messages are good for all their versions, so a handler seldom asks for the version.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from .. import messages
from ..catalog import Catalog
from . import codes
from .asks import Ask

FIRST_WITH_SOFTWARE = 3  # versions of ApiVersions from here on
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")
Handler = Callable[[Ask], Any]


class Api(NamedTuple):
    """The versions of an api that are served, and its handler, `room:function`."""

    first: int
    last: int
    handler: str


APIS: dict[str, Api] = {
    # 0 to 2 are refused batch by batch: some clients take a higher first version for "no compression" (KAFKA-18659).
    "Produce": Api(0, 13, "producing:produce"),
    "Fetch": Api(4, 17, "fetching:fetch"),
    "ListOffsets": Api(1, 10, "listing:list_offsets"),
    "Metadata": Api(0, 13, "describing:metadata"),
    "CreateTopics": Api(0, 7, "creating:create_topics"),
    "DeleteTopics": Api(0, 6, "deleting:delete_topics"),
    "CreatePartitions": Api(0, 3, "creating:create_partitions"),
    "DescribeCluster": Api(0, 2, "describing:describe_cluster"),
    "DescribeConfigs": Api(0, 4, "configuring:describe_configs"),
    "IncrementalAlterConfigs": Api(0, 1, "configuring:incremental_alter_configs"),
    "DescribeLogDirs": Api(0, 5, "directories:describe_log_dirs"),
    "FindCoordinator": Api(0, 6, "groups.finding:find_coordinator"),
    "JoinGroup": Api(0, 9, "groups.joining:join_group"),
    "SyncGroup": Api(0, 5, "groups.syncing:sync_group"),
    "Heartbeat": Api(0, 4, "groups.syncing:heartbeat"),
    "LeaveGroup": Api(0, 5, "groups.leaving:leave_group"),
    "OffsetCommit": Api(0, 10, "groups.committing:offset_commit"),
    "OffsetFetch": Api(0, 10, "groups.resuming:offset_fetch"),
    "ListGroups": Api(0, 5, "groups.managing:list_groups"),
    "DescribeGroups": Api(0, 6, "groups.managing:describe_groups"),
    "DeleteGroups": Api(0, 3, "groups.managing:delete_groups"),
    "InitProducerId": Api(0, 5, "numbering:init_producer_id"),
    "ApiVersions": Api(0, 4, "apis:api_versions"),
}
DRAFTS: dict[str, Api] = {"CreateReplicaAssignment": Api(0, 0, "assigning:create_replica_assignment")}


def table_for(kip_879: bool) -> dict[str, Api]:
    """Return the served apis by name."""
    return APIS | DRAFTS if kip_879 else APIS


def apis_by_key(table: dict[str, Api], catalog: Catalog) -> dict[int, Api]:
    """Return the served apis by key."""
    keys = {name: catalog.spec(f"{name}Request", api.last).api_key for name, api in table.items()}
    return {key: table[name] for name, key in keys.items() if key is not None}


@cache
def handler_for(name: str) -> Handler:
    """Find a handler by what the table says."""
    room, function = name.split(":")
    handler: Handler = getattr(import_module(f".{room}", __package__), function)
    return handler


def api_versions(ask: Ask) -> Any:
    """Answer ApiVersions; who names its software must do so in letters, digits, dots and hyphens (KIP-511)."""
    names = ask.message.client_software_name, ask.message.client_software_version
    if ask.version >= FIRST_WITH_SOFTWARE and not all(map(_SOFTWARE.fullmatch, names)):
        return messages.ApiVersionsResponse(error_code=codes.INVALID_REQUEST)
    return versions_response(ask.cluster.apis)


def versions_response(apis: dict[int, Api], error_code: int = 0) -> Any:
    """List the apis."""
    response = messages.ApiVersionsResponse
    rows = (response.ApiVersion(api_key=key, min_version=api.first, max_version=api.last) for key, api in apis.items())
    return response(error_code=error_code, api_keys=tuple(sorted(rows, key=lambda row: row.api_key)))
