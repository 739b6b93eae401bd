"""UpdateFeatures (key 57), versions 0-2: set the level of features of the whole cluster (KIP-584).

Levels come with the program, so the only update that is granted is the one that changes nothing. As in
Kafka, one that is refused refuses the request; single results are told before version 2 only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.apis.api_versions import FEATURES
from riverlog.broker.handler import Handler
from riverlog.cluster import Refusal
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_WITHOUT_RESULTS = 2
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


def answer(
    _broker: Broker, request: messages.UpdateFeaturesRequest, context: Context
) -> messages.UpdateFeaturesResponse:
    """Say whether all features have the levels asked for."""
    for update in request.feature_updates:
        refusal = fault(update)
        if refusal is not None:
            return messages.UpdateFeaturesResponse(
                error_code=refusal.error_code, error_message=refusal.message
            )
    return messages.UpdateFeaturesResponse(
        error_message=None,
        results=[
            messages.UpdatableFeatureResult(feature=update.feature, error_message=None)
            for update in request.feature_updates
            if context.api_version < FIRST_VERSION_WITHOUT_RESULTS
        ],
    )


def fault(update: messages.FeatureUpdateKey) -> Refusal | None:
    """Say why a feature cannot have a level, or None."""
    level = FEATURES.get(update.feature)
    if level is None:
        why = f"there is no feature {update.feature!r}"
    elif update.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        why = f"{update.upgrade_type} is not a type of upgrade"
    elif update.max_version_level != level:
        why = f"{update.feature} is at level {level}, which comes with the program and stays"
    else:
        return None
    return Refusal(ErrorCode.INVALID_UPDATE_VERSION, why)


HANDLER = Handler(api_key=57, min_version=0, max_version=2, answer=answer)
