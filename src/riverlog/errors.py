"""The error families. Each raise knows what it ends: a request, a connection, a partition or the process.

    RiverlogError
      ProtocolError
        LocalProtocolError     we built something illegal: our bug
        RemoteProtocolError    the peer sent something illegal: ends its connection
      RequestRefused           well-formed but refused: ends one request, carries the error's number
      StorageError             a disk or a file on it let us down: ends one partition (or log directory)
        CorruptBatch  TornSegment  DiskFull
      ConfigError              a setting is wrong: ends the start, or the change that asked for it

On the produce and fetch paths a refusal is a *returned value*, since the protocol answers for each
partition; these exceptions are for what ends something larger.
"""

from __future__ import annotations


class RiverlogError(Exception):
    """Anything that riverlog itself raises on purpose."""


class ProtocolError(RiverlogError):
    """Bytes that do not follow the protocol."""


class LocalProtocolError(ProtocolError):
    """We were about to send something illegal."""


class RemoteProtocolError(ProtocolError):
    """The peer sent something illegal; its connection ends."""


class RequestRefused(RiverlogError):
    """A well-formed request that is refused, with the protocol's error number and a text for people."""

    def __init__(self, error_code: int, message: str = "") -> None:
        super().__init__(message or f"refused with error {error_code}")
        self.error_code = error_code
        self.message = message


class StorageError(RiverlogError):
    """A file or disk failed: which one, where in it, and what was expected."""

    def __init__(self, message: str, *, path: str = "", position: int = -1) -> None:
        where = f" ({path}{f' at byte {position}' if position >= 0 else ''})" if path else ""
        super().__init__(message + where)
        self.path = path
        self.position = position


class CorruptBatch(StorageError):
    """Stored bytes that are not the batch which was written."""


class TornSegment(StorageError):
    """A segment file that ends inside a batch."""


class DiskFull(StorageError):
    """No space left where a partition lives."""


class ConfigError(RiverlogError):
    """A setting with a wrong value: names the setting, the value, what is accepted and where it came from."""

    def __init__(self, setting: str, value: object, accepted: str, *, source: str = "") -> None:
        came_from = f" (from {source})" if source else ""
        super().__init__(f"{setting}={value!r}{came_from} is not accepted: expected {accepted}")
        self.setting = setting
        self.value = value
        self.accepted = accepted
        self.source = source
