"""How a coordinator tells a producer that it is fenced: older clients know only one of the two errors."""

from __future__ import annotations

from riverlog.protocol.error_codes import ErrorCode


def fencing_error(error_code: int) -> int:
    """Give the error code as a client understands it that knows no PRODUCER_FENCED."""
    if error_code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error_code
