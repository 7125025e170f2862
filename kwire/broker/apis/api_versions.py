"""ApiVersions: which apis are served, in which versions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ... import messages
from .. import codes
from ..cluster import Api, RequestContext

FIRST_WITH_SOFTWARE = 3  # from this version of ApiVersions on
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def api_versions(request: RequestContext) -> Any:
    """Answer ApiVersions. Software names must consist of letters, digits, dots and hyphens (KIP-511)."""
    names = request.message.client_software_name, request.message.client_software_version
    if request.version >= FIRST_WITH_SOFTWARE and not all(map(_SOFTWARE.fullmatch, names)):
        return messages.ApiVersionsResponse(error_code=codes.INVALID_REQUEST)
    return versions_response(request.cluster.apis)


# Features of the cluster, each with its level: groups of KIP-848, transactions of KIP-890.
FEATURES = {"group.version": 1, "transaction.version": 2}


def versions_response(apis: Mapping[int, Api], error_code: int = 0) -> Any:
    """List the apis, and the features, which older versions leave out."""
    response = messages.ApiVersionsResponse
    rows = (response.ApiVersion(api_key=key, min_version=api.first, max_version=api.last) for key, api in apis.items())
    supported, finalized = response.SupportedFeatureKey, response.FinalizedFeatureKey
    return response(
        error_code=error_code,
        api_keys=tuple(sorted(rows, key=lambda row: row.api_key)),
        supported_features=tuple(supported(name=one, min_version=0, max_version=top) for one, top in FEATURES.items()),
        finalized_features_epoch=0,
        finalized_features=tuple(
            finalized(name=one, min_version_level=top, max_version_level=top) for one, top in FEATURES.items()
        ),
    )
