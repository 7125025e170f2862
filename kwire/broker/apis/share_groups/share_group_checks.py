"""The checks that requests of share groups share."""

from __future__ import annotations

from ....values import ErrorCode
from ...request_context import RequestContext
from ..groups.group_checks import problem_with


def is_off(request: RequestContext[object]) -> bool:
    """Return whether share groups are disabled: the level of the feature is 0."""
    return not request.cluster.feature_levels.get("share.version")


def share_problem(request: RequestContext[object], group_id: str) -> int:
    """Return the error code if this broker cannot handle a request for a share group; 0 if it can."""
    return ErrorCode.UNSUPPORTED_VERSION if is_off(request) else problem_with(request, group_id)
