import gzip
import struct
import zlib

import lz4.frame
import pytest
import snappy
import zstandard

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.compression import Compression, compress, decompress

CODECS = [Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]
TEXT = b"".join(b"line %d of a text that compresses\n" % number for number in range(4000))
LIMIT = 10 * 1024 * 1024
XERIAL_HEADER = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


def xerial(*blocks: bytes, header: bytes = XERIAL_HEADER) -> bytes:
    return header + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("data", [b"", b"x", TEXT, bytes(1_000_000)], ids=["empty", "byte", "text", "zeros"])
def test_what_is_compressed_comes_back(codec: Compression, data: bytes) -> None:
    compressed = compress(codec, data)

    assert decompress(codec, compressed, LIMIT) == data


@pytest.mark.parametrize("codec", Compression)
def test_any_kind_of_buffer_is_taken(codec: Compression) -> None:
    compressed = compress(codec, memoryview(bytearray(TEXT)))

    assert decompress(codec, bytearray(compressed), LIMIT) == TEXT
    assert decompress(codec, memoryview(b"--" + compressed)[2:], LIMIT) == TEXT


@pytest.mark.parametrize("codec", CODECS)
def test_text_becomes_smaller(codec: Compression) -> None:
    assert len(compress(codec, TEXT)) < len(TEXT) / 3


@pytest.mark.parametrize(
    ("codec", "low", "high"),
    [(Compression.GZIP, 1, 9), (Compression.LZ4, 1, 12), (Compression.ZSTD, -50, 19)],
)
def test_a_higher_level_compresses_harder(codec: Compression, low: int, high: int) -> None:
    quick, thorough = compress(codec, TEXT, low), compress(codec, TEXT, high)

    assert len(thorough) < len(quick)
    assert decompress(codec, quick, LIMIT) == decompress(codec, thorough, LIMIT) == TEXT


def test_the_independent_libraries_read_what_we_write() -> None:
    assert gzip.decompress(compress(Compression.GZIP, TEXT)) == TEXT
    assert lz4.frame.decompress(compress(Compression.LZ4, TEXT)) == TEXT
    assert zstandard.ZstdDecompressor().decompress(compress(Compression.ZSTD, TEXT)) == TEXT


def test_snappy_is_written_in_xerial_blocks_of_32_kib() -> None:
    compressed = compress(Compression.SNAPPY, TEXT)

    blocks, rest = [], compressed[16:]
    while rest:
        (length,) = struct.unpack_from(">i", rest)
        blocks.append(snappy.uncompress(rest[4 : 4 + length]))
        rest = rest[4 + length :]
    assert compressed[:16] == XERIAL_HEADER
    assert b"".join(blocks) == TEXT
    assert {len(block) for block in blocks[:-1]} == {32 * 1024}


def test_lz4_is_written_in_independent_blocks_since_java_reads_no_others() -> None:
    info = lz4.frame.get_frame_info(compress(Compression.LZ4, bytes(200_000)))

    assert not info["block_linked"]


def test_we_read_what_the_independent_libraries_write() -> None:
    stream = zstandard.ZstdCompressor().compressobj()
    zstd_of_unknown_size = stream.compress(TEXT) + stream.flush()

    assert decompress(Compression.GZIP, gzip.compress(TEXT), LIMIT) == TEXT
    assert decompress(Compression.SNAPPY, snappy.compress(TEXT), LIMIT) == TEXT
    assert decompress(Compression.LZ4, lz4.frame.compress(TEXT, content_checksum=True), LIMIT) == TEXT
    assert decompress(Compression.ZSTD, zstd_of_unknown_size, LIMIT) == TEXT


def test_streams_of_several_parts_are_read_to_their_end() -> None:
    two = TEXT + b"second"

    assert decompress(Compression.GZIP, gzip.compress(TEXT) + gzip.compress(b"second"), LIMIT) == two
    assert decompress(Compression.LZ4, lz4.frame.compress(TEXT) + lz4.frame.compress(b"second"), LIMIT) == two
    zstd = zstandard.ZstdCompressor()
    assert decompress(Compression.ZSTD, zstd.compress(TEXT) + zstd.compress(b"second"), LIMIT) == two
    framed = xerial(snappy.compress(TEXT)) + xerial(snappy.compress(b"sec"), snappy.compress(b"ond"))
    assert decompress(Compression.SNAPPY, framed, LIMIT) == two


def test_xerial_versions_in_the_other_byte_order_are_read() -> None:
    little_endian = xerial(snappy.compress(TEXT), header=b"\x82SNAPPY\x00\x01\x00\x00\x00\x01\x00\x00\x00")

    assert decompress(Compression.SNAPPY, little_endian, LIMIT) == TEXT


@pytest.mark.parametrize("codec", Compression)
def test_the_limit_itself_is_still_allowed(codec: Compression) -> None:
    assert decompress(codec, compress(codec, TEXT), len(TEXT)) == TEXT


@pytest.mark.parametrize("codec", Compression)
def test_one_byte_more_than_the_limit_is_refused(codec: Compression) -> None:
    compressed = compress(codec, TEXT)

    with pytest.raises(RemoteProtocolError):
        decompress(codec, compressed, len(TEXT) - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused_within_the_limit(codec: Compression) -> None:
    bomb = compress(codec, bytes(50_000_000))

    with pytest.raises(RemoteProtocolError):
        decompress(codec, bomb, 100_000)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kept", [0, 1, 7, 30, -5, -1])
def test_a_stream_that_is_cut_off_is_refused(codec: Compression, kept: int) -> None:
    torn = compress(codec, TEXT)[:kept]

    with pytest.raises(RemoteProtocolError, match=codec.name.lower()):
        decompress(codec, torn, LIMIT)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("garbage", [b"\x05", b"garbage", bytes(100), b"\xff" * 100])
def test_garbage_is_refused_by_the_codecs_name(codec: Compression, garbage: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match=codec.name.lower()):
        decompress(codec, garbage, LIMIT)


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_bytes_behind_the_stream_are_refused(codec: Compression) -> None:
    with pytest.raises(RemoteProtocolError):
        decompress(codec, compress(codec, TEXT) + b"junk", LIMIT)


def test_gzip_data_with_a_wrong_checksum_is_refused() -> None:
    compressed = bytearray(compress(Compression.GZIP, TEXT))
    compressed[-8] ^= 1

    with pytest.raises(RemoteProtocolError):
        decompress(Compression.GZIP, compressed, LIMIT)


@pytest.mark.parametrize(
    "stream",
    [
        XERIAL_HEADER[:12],
        XERIAL_HEADER + b"\x00\x00",
        XERIAL_HEADER + struct.pack(">i", -5),
        XERIAL_HEADER + struct.pack(">i", 0),
        XERIAL_HEADER + struct.pack(">i", 100) + b"short",
        XERIAL_HEADER + struct.pack(">i", 2**31 - 1),
        xerial(b"\xff\xff\xff\xff\x0f" + b"claims 4 GiB"),
        xerial(snappy.compress(TEXT), b""),
    ],
    ids=["header", "length", "negative", "zero", "beyond", "huge", "claim", "empty-block"],
)
def test_malformed_xerial_framing_is_refused(stream: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decompress(Compression.SNAPPY, stream, LIMIT)


@pytest.mark.parametrize("number", [5, 7, -1])
def test_a_number_without_codec_is_refused(number: int) -> None:
    with pytest.raises(RemoteProtocolError, match="no codec"):
        decompress(number, b"", LIMIT)


def test_a_zlib_stream_without_gzip_header_is_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        decompress(Compression.GZIP, zlib.compress(TEXT), LIMIT)
