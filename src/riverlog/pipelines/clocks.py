"""The time of an event from a device whose clock is wrong, by three timestamps.

    device clock   event_time ─────────────── sent_time
                                                  │ network
    server clock                            received_time

At the moment of sending both clocks were read, but for the network's delay: `received - sent` is how far the
device's clock is behind. Added to `event_time` it gives the time of the event by the server's clock.

What remains is an error of the network's delay (the event seems that much later), and of whatever the
device's clock drifted or was set between event and sending: a device that sends seldom is corrected worse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from riverlog.pipelines.columns import require_new, require_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def correct_clock(
    *,
    event_time: str,
    sent_time: str,
    received_time: str,
    into: str = "corrected_time",
    offset: str | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Add the time of each event by the server's clock, as column `into`.

    No event is later than its arrival: one that would be (the clock was set back between event and sending)
    gets `received_time`. Without `sent_time` there is nothing to correct with: the event's own time
    stands, no later than its arrival. A null event time stays null. `offset` names a further column with the
    correction in microseconds, null where there was none: how wrong a device's clock is, for those who mend
    it.

    Nothing is kept and nothing is late here. A watermark belongs on `into`, so set it afterwards.
    """

    def transform(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        require_time(frame, "event_time", event_time)
        require_time(frame, "sent_time", sent_time)
        require_time(frame, "received_time", received_time)
        require_new(frame, "into", into)
        event, sent, received = (
            F.unix_micros(F.col(f"`{name}`")) for name in (event_time, sent_time, received_time)
        )
        corrected = F.least(F.coalesce(event + (received - sent), event), received)
        added = {into: F.when(event.isNotNull(), F.timestamp_micros(corrected))}
        if offset is not None:
            require_new(frame, "offset", offset)
            added[offset] = received - sent
        return frame.withColumns(added)

    return transform
