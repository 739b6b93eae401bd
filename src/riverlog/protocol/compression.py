"""The five codecs of a record batch: none, gzip, snappy, lz4, zstd.

Rules
- What we write, every client reads. Snappy is written in the block framing of xerial's Java library, since
  Java consumers expect it. lz4 is written as one frame of independent blocks, since Java's reader refuses
  linked ones.
- What clients write, we read: snappy framed or raw, gzip of several members, lz4 and zstd of several frames.
- `decompress` never yields or holds more than `size_limit` bytes, whatever the input claims, and raises
  RemoteProtocolError for everything that is not a complete stream of its codec.

xerial framing:

    82 53 4E 41 50 50 59 00   version int32   oldest reader int32   { length int32, raw snappy block }*

C code does the work: cramjam, and for writing gzip zlib, which is the faster one at that.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from enum import IntEnum

import cramjam

from riverlog.errors import RemoteProtocolError


class Compression(IntEnum):
    """A codec, by its number in a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


GZIP_LEVEL = 6
LZ4_LEVEL = 1
ZSTD_LEVEL = 3

_GZIP_WINDOW_BITS = 31
"""zlib's way to ask for 32 KB of window and a gzip header."""

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024

# What a byte can become at most. So an input that is small but claims much is refused without the memory.
_GZIP_RATIO_MAX = 1032
_SNAPPY_RATIO_MAX = 22  # an element of 3 bytes copies 64
_LZ4_RATIO_MAX = 255
_ZSTD_RATIO_MAX = 32 * 1024  # a block of 4 bytes repeats one byte 128 Ki times

_FIRST_GUESS_RATIO = 8
_FIRST_GUESS_MIN = 4096
_GUESS_GROWTH = 4

_BUFFER_IS_FULL = "failed to write whole buffer"
"""The text of Rust's standard library, which is how cramjam tells a full buffer from garbage."""

_read_int32 = struct.Struct(">i").unpack_from
_write_int32 = struct.Struct(">i").pack


def compress(codec: Compression, data: bytes | bytearray | memoryview, level: int | None = None) -> bytes:
    """Compress `data` as one complete stream. `level` is the codec's own; snappy has none."""
    if codec == Compression.LZ4:
        # Content size and checksum are left out: every block has its own checksum, and the batch has a CRC.
        lz4 = cramjam.lz4.Compressor(
            level=LZ4_LEVEL if level is None else level, content_checksum=False, block_linked=False
        )
        lz4.compress(bytes(data))
        return bytes(lz4.finish())
    if codec == Compression.ZSTD:
        return bytes(cramjam.zstd.compress(data, level=ZSTD_LEVEL if level is None else level))
    if codec == Compression.SNAPPY:
        return _compress_xerial(data)
    if codec == Compression.GZIP:
        return zlib.compress(data, GZIP_LEVEL if level is None else level, _GZIP_WINDOW_BITS)
    return bytes(data)


def decompress(codec: int, data: bytes | bytearray | memoryview, size_limit: int) -> bytes:
    """Decompress one complete stream into at most `size_limit` bytes."""
    try:
        if codec == Compression.LZ4:
            return _decompress_frames(cramjam.lz4.decompress_into, data, size_limit, _LZ4_RATIO_MAX)
        if codec == Compression.ZSTD:
            return _decompress_frames(cramjam.zstd.decompress_into, data, size_limit, _ZSTD_RATIO_MAX)
        if codec == Compression.SNAPPY:
            return _decompress_snappy(memoryview(data), size_limit)
        if codec == Compression.GZIP:
            return _decompress_frames(cramjam.gzip.decompress_into, data, size_limit, _GZIP_RATIO_MAX)
    except (cramjam.DecompressionError, struct.error) as error:
        raise RemoteProtocolError(
            f"not a complete {Compression(codec).name.lower()} stream: {error}"
        ) from None
    if codec != Compression.NONE:
        raise RemoteProtocolError(f"no codec has number {codec}")
    if len(data) > size_limit:
        raise _too_large(size_limit)
    return bytes(data)


def _decompress_frames(
    decompress_into: Callable[[bytes | bytearray | memoryview, bytearray], int],
    data: bytes | bytearray | memoryview,
    size_limit: int,
    ratio_max: int,
) -> bytes:
    """Decompress frames (gzip: members) into a buffer that grows until they fit or the limit is reached.

    Frames need not say how much they hold (those of Java clients do not), hence the guess.
    """
    room_max = min(size_limit, len(data) * ratio_max)
    room = min(room_max, max(_FIRST_GUESS_MIN, len(data) * _FIRST_GUESS_RATIO))
    while True:
        output = bytearray(room)
        try:
            written = decompress_into(data, output)
        except cramjam.DecompressionError as error:
            if _BUFFER_IS_FULL not in str(error) or room == room_max:
                raise
            room = min(room_max, room * _GUESS_GROWTH)
        else:
            return bytes(memoryview(output)[:written])


def _compress_xerial(data: bytes | bytearray | memoryview) -> bytes:
    view = memoryview(data)
    parts = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts.append(_write_int32(len(block)))
        parts.append(block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, size_limit: int) -> bytes:
    framed = data[: len(_XERIAL_MAGIC)] == _XERIAL_MAGIC
    blocks = _xerial_blocks(data) if framed else [data]
    sizes = [_snappy_block_size(block) for block in blocks]
    if sum(sizes) > size_limit:
        raise _too_large(size_limit)
    output = bytearray(sum(sizes))
    view = memoryview(output)
    position = 0
    for block, size in zip(blocks, sizes, strict=True):
        cramjam.snappy.decompress_raw_into(block, view[position : position + size])
        position += size
    return bytes(output)


def _xerial_blocks(data: memoryview) -> list[memoryview]:
    """Cut a framed stream into its raw blocks. Streams may be concatenated, each with its header."""
    blocks: list[memoryview] = []
    position = 0
    while position < len(data):
        if data[position : position + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            # Versions are not judged: some writers fill them in the other byte order.
            position += len(_XERIAL_HEADER)
            continue
        (length,) = _read_int32(data, position)
        start = position + 4
        position = start + length
        if length <= 0 or position > len(data):
            raise RemoteProtocolError("not a complete snappy stream: a block reaches beyond its end")
        blocks.append(data[start:position])
    if position > len(data):
        raise RemoteProtocolError("not a complete snappy stream: it ends inside its header")
    return blocks


def _snappy_block_size(block: memoryview) -> int:
    size = int(cramjam.snappy.decompress_raw_len(block))
    if size > len(block) * _SNAPPY_RATIO_MAX:
        raise RemoteProtocolError("not a complete snappy stream: a block claims more than it can hold")
    return size


def _too_large(size_limit: int) -> RemoteProtocolError:
    return RemoteProtocolError(f"decompresses to more than {size_limit} bytes")
