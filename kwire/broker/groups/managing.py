"""ListGroups, DescribeGroups and DeleteGroups: groups as operators see them."""

from __future__ import annotations

from typing import Any

from ... import messages
from .. import codes
from ..asks import Ask
from .answers import described
from .coordinator import coordinator_of, problem_with
from .group import GroupState

CLASSIC = "classic"
FIRST_WITH_NOT_FOUND = 6  # versions of DescribeGroups before it show a group that is not there as Dead (KIP-1043)


def list_groups(ask: Ask) -> Any:
    """Answer ListGroups: the groups that this broker is asked about."""
    states = {state.lower() for state in ask.message.states_filter}
    types = {kind.lower() for kind in ask.message.types_filter} or {CLASSIC}
    rows = (
        messages.ListGroupsResponse.ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=CLASSIC,
        )
        for group in ask.cluster.groups.all()
        if CLASSIC in types
        and (not states or group.state.lower() in states)
        and coordinator_of(group.group_id, ask.cluster.controller) == ask.node_id
    )
    return messages.ListGroupsResponse(groups=tuple(rows))


def describe_groups(ask: Ask) -> Any:
    """Answer DescribeGroups."""
    names = dict.fromkeys(ask.message.groups)
    return messages.DescribeGroupsResponse(groups=tuple(_described(ask, name) for name in names))


def _described(ask: Ask, group_id: str) -> Any:
    row = messages.DescribeGroupsResponse.DescribedGroup
    if code := problem_with(ask, group_id, needs_name=False):
        return row(group_id=group_id, error_code=code)
    group = ask.cluster.groups.find(group_id)
    if group is not None:
        return described(group)
    if ask.version < FIRST_WITH_NOT_FOUND:
        return row(group_id=group_id, group_state=GroupState.DEAD.value)
    missing = f"there is no group {group_id!r}"
    return row(
        group_id=group_id, group_state=GroupState.DEAD.value, error_code=codes.GROUP_ID_NOT_FOUND, error_message=missing
    )


def delete_groups(ask: Ask) -> Any:
    """Answer DeleteGroups."""
    row = messages.DeleteGroupsResponse.DeletableGroupResult
    names = dict.fromkeys(ask.message.groups_names)
    return messages.DeleteGroupsResponse(
        results=tuple(row(group_id=name, error_code=_delete(ask, name)) for name in names)
    )


def _delete(ask: Ask, group_id: str) -> int:
    groups = ask.cluster.groups
    if code := problem_with(ask, group_id, needs_name=False):
        return code
    group = groups.find(group_id)
    if group is None:
        return codes.GROUP_ID_NOT_FOUND
    if group.state is not GroupState.EMPTY:
        return codes.NON_EMPTY_GROUP
    groups.delete(group)
    return codes.NONE
