"""ApiVersions: the versions that a broker serves (KIP-35, KIP-511), and its features (KIP-584)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .... import messages
from ....values import ErrorCode
from ...api import ServedApi
from ...features import Feature, features_of
from ...request_context import RequestContext

FIRST_WITH_SOFTWARE = 3  # the first version of ApiVersions with the client's software name
FIRST_WITH_ZERO = 4  # the first version for clients that accept features whose lowest level is 0 (KIP-1022)
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def api_versions(request: RequestContext[messages.ApiVersionsRequest]) -> messages.ApiVersionsResponse:
    """Handle ApiVersions. Software names must consist of letters, digits, dots and hyphens (KIP-511)."""
    names = request.message.client_software_name, request.message.client_software_version
    if request.version >= FIRST_WITH_SOFTWARE and not all(map(_SOFTWARE.fullmatch, names)):
        return messages.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    cluster = request.cluster
    features = features_of(cluster.settings.release)
    if request.version < FIRST_WITH_ZERO:
        features = {name: levels for name, levels in features.items() if levels.first}
    return versions_response(cluster.apis, 0, features, cluster.feature_levels, cluster.controller.journals.end)


def versions_response(
    apis: Mapping[int, ServedApi],
    error_code: int = 0,
    features: Mapping[str, Feature] | None = None,
    levels: Mapping[str, int] | None = None,
    epoch: int = -1,
) -> messages.ApiVersionsResponse:
    """Return the ApiVersions response with apis and, except in old versions, features.

    Args:
        apis: the served apis by key.
        error_code: the error code of the response.
        features: the features that the brokers support.
        levels: the finalized levels of features.
        epoch: the epoch of the finalized levels.
    """
    response = messages.ApiVersionsResponse
    advertised = sorted((key, api) for key, api in apis.items() if api.is_advertised)
    rows = (response.ApiVersion(api_key=key, min_version=api.first, max_version=api.last) for key, api in advertised)
    supported = response.SupportedFeatureKey
    finalized = response.FinalizedFeatureKey
    return response(
        error_code=error_code,
        api_keys=tuple(rows),
        supported_features=tuple(
            supported(name=name, min_version=feature_range.first, max_version=feature_range.last)
            for name, feature_range in (features or {}).items()
        ),
        finalized_features_epoch=epoch,
        finalized_features=tuple(
            finalized(name=name, min_version_level=level, max_version_level=level)
            for name, level in (levels or {}).items()
        ),
    )


APIS = {  # what each version has changed
    # 1: the throttle time (KIP-124)
    # 2: the response is sent before the client is throttled (KIP-219)
    # 3: flexible (KIP-482), except the header of the response; the client's software (KIP-511), and features
    #    (KIP-584)
    # 4: features whose lowest level is 0 (KIP-1022)
    "ApiVersions": ServedApi(0, 4, api_versions),
}
