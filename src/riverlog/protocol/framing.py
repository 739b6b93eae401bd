"""Cuts a stream of bytes into frames: each is an int32 size, then that many bytes.

    | size | frame ...... | size | frame .. | si
      4      size           4      size       the rest comes later

Knows sizes and limits, nothing of sockets. A frame that lies within what was fed in one piece is not
copied: it refers to the fed object itself. One that arrives in several pieces is collected in a bytearray
that grows as bytes arrive, so a peer that claims a huge size and then trickles takes no more memory than
it has sent.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from riverlog.errors import RemoteProtocolError

_SIZE = struct.Struct(">i")
_SIZE_BYTES = _SIZE.size


class Frame(NamedTuple):
    """The bytes buffer[start:end], without the size before them."""

    buffer: bytes | bytearray
    start: int
    end: int


class FrameReader:
    """Cut a byte stream into request frames.

    After RemoteProtocolError the stream has no known place to go on from: the connection must end.
    """

    __slots__ = ("_partial", "size_max")

    def __init__(self, size_max: int) -> None:
        """Take the size of the largest frame that is let in."""
        self.size_max = size_max
        self._partial = bytearray()  # the beginning of a frame, its size included

    @property
    def buffered_bytes(self) -> int:
        """How many bytes of an unfinished frame are held."""
        return len(self._partial)

    @property
    def missing_bytes(self) -> int:
        """How many bytes the unfinished frame lacks (or its size does, if cut short); 0: none is begun."""
        held = len(self._partial)
        if held == 0:
            return 0
        if held < _SIZE_BYTES:
            return _SIZE_BYTES - held
        size: int = _SIZE.unpack_from(self._partial)[0]
        return _SIZE_BYTES + size - held

    def feed(self, data: bytes | bytearray) -> list[Frame]:
        """Take the next bytes of the stream; return the frames that are complete now, in order.

        The frames may refer to `data`: the caller does not change or reuse it while they live.
        """
        position = 0
        frames: list[Frame] = []
        if self._partial:
            position = self._continue(data)
            if position < 0:
                return frames
            frames.append(Frame(self._partial, _SIZE_BYTES, len(self._partial)))
            self._partial = bytearray()
        fed = len(data)
        while fed - position >= _SIZE_BYTES:
            start = position + _SIZE_BYTES
            end = start + self._checked_size(data, position)
            if end > fed:
                break
            frames.append(Frame(data, start, end))
            position = end
        if position < fed:
            self._partial += data[position:]
        return frames

    def _continue(self, data: bytes | bytearray) -> int:
        """Go on with the unfinished frame; return how much of `data` completed it, or -1 if it lacks more."""
        partial = self._partial
        position = 0
        if len(partial) < _SIZE_BYTES:
            position = _SIZE_BYTES - len(partial)
            partial += data[:position]
            if len(partial) < _SIZE_BYTES:
                return -1
        missing = _SIZE_BYTES + self._checked_size(partial, 0) - len(partial)
        if missing > len(data) - position:
            partial += data[position:] if position else data
            return -1
        partial += data[position : position + missing]
        return position + missing

    def _checked_size(self, buffer: bytes | bytearray, position: int) -> int:
        size: int = _SIZE.unpack_from(buffer, position)[0]
        if not 0 <= size <= self.size_max:
            raise RemoteProtocolError(f"a frame of {size} bytes: 0 to {self.size_max} are let in")
        return size
