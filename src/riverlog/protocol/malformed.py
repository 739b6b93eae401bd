"""The ways in which a peer's bytes can be malformed, each with the facts needed to find out why.

All raise RemoteProtocolError, which ends the connection. `path` names the field, as `FetchRequest.topics`.
"""

from __future__ import annotations

from typing import NoReturn

from riverlog.errors import RemoteProtocolError


def refuse_length(path: str, length: int) -> NoReturn:
    """Refuse a negative length; -1 stands for null, here where null is not allowed."""
    if length == -1:
        raise RemoteProtocolError(f"{path} is null")
    raise RemoteProtocolError(f"{path} has the length {length}")


def refuse_count(path: str, count: int, left: int) -> NoReturn:
    """Refuse a list that claims more elements than the bytes left could hold, or a negative number."""
    if count < 0:
        refuse_length(path, count)
    raise RemoteProtocolError(f"{path} claims {count} elements where {max(left, 0)} bytes are left")


def refuse_end(path: str, excess: int) -> NoReturn:
    """Refuse what ends `excess` bytes after the place where it must end, or before it."""
    if excess > 0:
        raise RemoteProtocolError(f"{path} is cut short: it needs {excess} bytes more")
    raise RemoteProtocolError(f"{path} is followed by {-excess} bytes that do not belong to it")
