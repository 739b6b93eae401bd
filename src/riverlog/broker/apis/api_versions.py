"""ApiVersions (key 18), versions 0-4: which requests this broker answers, in which versions.

The first request of a client. From version 3 on it says what the client is, and a name or version that is
not one is refused (KIP-511). What a client of a version unknown here gets is the dispatcher's business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_WITH_SOFTWARE = 3
FIRST_VERSION_WITH_LEVEL_0 = 4
"""Readers of version 3 fail on a feature whose range begins at 0 (KAFKA-17011)."""
FEATURES_EPOCH = 0
"""Which decision on features this is. They come with the program, so there is only one."""

FEATURES: dict[str, int] = {"group.version": 1, "transaction.version": 2}
"""The features that clients may rely on, with their level."""

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?\Z")


def answer(
    broker: Broker, request: messages.ApiVersionsRequest, context: Context
) -> messages.ApiVersionsResponse:
    """List the versions, and remember what the client says of itself."""
    if context.api_version >= FIRST_VERSION_WITH_SOFTWARE:
        name, version = request.client_software_name, request.client_software_version
        if not (is_software(name) and is_software(version)):
            return messages.ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        context.connection.software_name = name
        context.connection.software_version = version
    return describe(broker.supported_versions(), FEATURES, context.api_version)


def is_software(text: str) -> bool:
    """Say whether a text can name software or its version: letters and digits, `.` and `-` between them."""
    return _SOFTWARE.match(text) is not None


def describe(
    versions: Iterable[tuple[int, int, int]],
    features: dict[str, int],
    api_version: int = FIRST_VERSION_WITH_LEVEL_0,
) -> messages.ApiVersionsResponse:
    """Tell versions and features."""
    lowest = 0 if api_version >= FIRST_VERSION_WITH_LEVEL_0 else 1
    return messages.ApiVersionsResponse(
        api_keys=[
            messages.ApiVersion(api_key=key, min_version=first, max_version=last)
            for key, first, last in versions
        ],
        supported_features=[
            messages.SupportedFeatureKey(name=name, min_version=lowest, max_version=level)
            for name, level in features.items()
        ],
        finalized_features_epoch=FEATURES_EPOCH,
        finalized_features=[
            messages.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in features.items()
        ],
    )


HANDLER = Handler(api_key=18, min_version=0, max_version=4, answer=answer)
