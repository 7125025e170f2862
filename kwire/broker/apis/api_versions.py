"""ApiVersions: which apis are served, in which versions; UpdateFeatures: the levels of features."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ... import messages
from ...values import FeatureUpgradeType
from .. import codes
from ..cluster import FEATURES, Api, Cluster, Feature, RequestContext

FIRST_WITH_SOFTWARE = 3  # from this version of ApiVersions on
FIRST_WITH_ZERO = 4  # older clients take no feature whose lowest level is 0 (KIP-1022)
FIRST_WITH_KINDS, LAST_WITH_RESULTS = 1, 1  # of UpdateFeatures
DOWNGRADES = (FeatureUpgradeType.SAFE_DOWNGRADE, FeatureUpgradeType.UNSAFE_DOWNGRADE)
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def api_versions(request: RequestContext) -> Any:
    """Answer ApiVersions. Software names must consist of letters, digits, dots and hyphens (KIP-511)."""
    names = request.message.client_software_name, request.message.client_software_version
    if request.version >= FIRST_WITH_SOFTWARE and not all(map(_SOFTWARE.fullmatch, names)):
        return messages.ApiVersionsResponse(error_code=codes.INVALID_REQUEST)
    cluster = request.cluster
    features = features_of(cluster)
    if request.version < FIRST_WITH_ZERO:
        features = {name: one for name, one in features.items() if one.first}
    return versions_response(cluster.apis, 0, features, cluster.feature_levels, cluster.controller.journals.end)


def features_of(cluster: Cluster) -> Mapping[str, Feature]:
    """Return the features that brokers support: none with the apis of a release before Kafka 4.0."""
    return {name: one for name, one in FEATURES.items() if one.api in cluster.table}


def versions_response(
    apis: Mapping[int, Api],
    error_code: int = 0,
    features: Mapping[str, Feature] | None = None,
    levels: Mapping[str, int] | None = None,
    epoch: int = -1,
) -> Any:
    """List the apis, and the features, which older versions leave out.

    Args:
        apis: by key.
        error_code: of the response.
        features: those that brokers support.
        levels: those of features that are finalized.
        epoch: of the levels.
    """
    response = messages.ApiVersionsResponse
    advertised = sorted((key, api) for key, api in apis.items() if api.is_advertised)
    rows = (response.ApiVersion(api_key=key, min_version=api.first, max_version=api.last) for key, api in advertised)
    supported, finalized = response.SupportedFeatureKey, response.FinalizedFeatureKey
    return response(
        error_code=error_code,
        api_keys=tuple(rows),
        supported_features=tuple(
            supported(name=name, min_version=one.first, max_version=one.last) for name, one in (features or {}).items()
        ),
        finalized_features_epoch=epoch,
        finalized_features=tuple(
            finalized(name=name, min_version_level=level, max_version_level=level)
            for name, level in (levels or {}).items()
        ),
    )


def update_features(request: RequestContext) -> Any:
    """Answer UpdateFeatures (KIP-584): all levels are changed, or none."""
    response, asked = messages.UpdateFeaturesResponse, request.message
    levels = dict(request.cluster.feature_levels)
    for update in asked.feature_updates:
        name, level = update.feature, update.max_version_level
        if problem := _feature_problem(request, update, levels.get(name, 0)):
            failed = "The update failed for all features since the following feature had an error"
            message = f"{failed}: Invalid update version {level} for feature {name}. {problem}"
            return response(error_code=codes.INVALID_UPDATE_VERSION, error_message=message)
        levels[name] = level
    if not asked.validate_only:
        request.cluster.feature_levels = {name: level for name, level in levels.items() if level}
    if request.version > LAST_WITH_RESULTS:
        return response(error_message=None)
    rows = (response.UpdatableFeatureResult(feature=one.feature, error_message="NONE") for one in asked.feature_updates)
    return response(error_message=None, results=tuple(rows))


def _feature_problem(request: RequestContext, update: Any, before: int) -> str:
    """Return why the level of a feature cannot be changed to this; empty if it can."""
    node_id, level = request.cluster.controller.controller_id, update.max_version_level
    feature = features_of(request.cluster).get(update.feature)
    if feature is None:
        return f"Local controller {node_id} does not support this feature."
    if not feature.first <= level <= feature.last:
        return f"Local controller {node_id} only supports versions {feature.first}-{feature.last}"
    kind = update.upgrade_type
    if request.version < FIRST_WITH_KINDS:
        kind = FeatureUpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else FeatureUpgradeType.UPGRADE
    if kind not in (FeatureUpgradeType.UPGRADE, *DOWNGRADES):
        return "The controller does not support the given upgrade type."
    if level < before and kind not in DOWNGRADES:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    return ""
