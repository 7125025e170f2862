"""UpdateFeatures: changes the levels of features (KIP-584)."""

from __future__ import annotations

from .... import messages
from ....values import ErrorCode, FeatureUpgradeType
from ...api import ServedApi
from ...features import features_of
from ...request_context import RequestContext

FIRST_WITH_KINDS, LAST_WITH_RESULTS = 1, 1  # versions of UpdateFeatures
DOWNGRADES = (FeatureUpgradeType.SAFE_DOWNGRADE, FeatureUpgradeType.UNSAFE_DOWNGRADE)


def update_features(request: RequestContext[messages.UpdateFeaturesRequest]) -> messages.UpdateFeaturesResponse:
    """Handle UpdateFeatures (KIP-584): update all feature levels, or none."""
    # Kafka: FeatureControlManager.updateFeatures
    response = messages.UpdateFeaturesResponse
    body = request.message
    levels = dict(request.cluster.feature_levels)
    for update in body.feature_updates:
        name = update.feature
        level = update.max_version_level
        if problem := _feature_problem(request, update, levels.get(name, 0)):
            failed = "The update failed for all features since the following feature had an error"
            message = f"{failed}: Invalid update version {level} for feature {name}. {problem}"
            return response(error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=message)
        levels[name] = level
    if not body.validate_only:
        request.cluster.feature_levels = {name: level for name, level in levels.items() if level}
    if request.version > LAST_WITH_RESULTS:
        return response(error_message=None)
    rows = (
        response.UpdatableFeatureResult(feature=update.feature, error_message="NONE") for update in body.feature_updates
    )
    return response(error_message=None, results=tuple(rows))


def _feature_problem(
    request: RequestContext[messages.UpdateFeaturesRequest],
    update: messages.UpdateFeaturesRequest.FeatureUpdateKey,
    before: int,
) -> str:
    """Return why the level of a feature cannot be updated; the empty string if it can."""
    node_id = request.cluster.controller.controller_id
    level = update.max_version_level
    feature = features_of(request.cluster.settings.release).get(update.feature)
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


APIS = {  # what each version has changed
    # 1: kinds of updates instead of a flag, and validation only (KIP-778)
    # 2: no results per feature (KIP-1022)
    "UpdateFeatures": ServedApi(0, 2, update_features),
}
