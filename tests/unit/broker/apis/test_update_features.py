"""UpdateFeatures: levels come with the program."""

from __future__ import annotations

import pytest

from riverlog.broker.apis.api_versions import FEATURES
from riverlog.broker.apis.update_features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, fault
from riverlog.protocol import messages


def update(feature: str, level: int, upgrade_type: int = UPGRADE) -> messages.FeatureUpdateKey:
    return messages.FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=upgrade_type)


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_stays_at_its_level(feature: str) -> None:
    level = FEATURES[feature]

    assert fault(update(feature, level)) is None
    assert fault(update(feature, level + 1)) is not None


@pytest.mark.parametrize("upgrade_type", [UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
def test_no_feature_goes_down_however_that_is_asked(upgrade_type: int) -> None:
    refusal = fault(update("transaction.version", 1, upgrade_type))

    assert refusal is not None
    assert "comes with the program" in refusal.message


def test_a_type_of_upgrade_that_is_none_is_refused() -> None:
    refusal = fault(update("transaction.version", FEATURES["transaction.version"], 9))

    assert refusal is not None
    assert "9 is not a type" in refusal.message
