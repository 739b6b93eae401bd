"""What to do about offsets that are not there any more: end the query and say which, or go on and say so."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from riverlog.errors import RiverlogError

logger = logging.getLogger("riverlog.pipelines.source")

ADVICE = "set failOnDataLoss to false to go on with what is left"


class OffsetsLost(RiverlogError):
    """Offsets that a query was to read are not there: names topic, partition and offsets. Ends the query."""


def report(losses: Sequence[str], *, fails: bool) -> None:
    """Raise OffsetsLost with all of these, or log a warning for each."""
    if losses and fails:
        raise OffsetsLost(f"{'; '.join(losses)}; {ADVICE}")
    for loss in losses:
        logger.warning("%s; going on, since failOnDataLoss is false", loss)
