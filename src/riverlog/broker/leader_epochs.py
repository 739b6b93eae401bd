"""What a client believes about the leader epoch, against what is so (KIP-320)."""

from __future__ import annotations

from riverlog.protocol.error_codes import ErrorCode

NOT_SAID = -1


def epoch_error(claimed: int, current: int) -> ErrorCode:
    """Compare a client's leader epoch with the broker's.

    An older one comes from before an election that the client has not heard of; a newer one from an
    election that this broker has not heard of.
    """
    if claimed in (NOT_SAID, current):
        return ErrorCode.NONE
    return ErrorCode.FENCED_LEADER_EPOCH if claimed < current else ErrorCode.UNKNOWN_LEADER_EPOCH
