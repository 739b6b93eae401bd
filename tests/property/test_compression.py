"""Codecs: round trips, and nothing but the named error from whatever else is decompressed."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.compression import Compression, compress, decompress
from tests.property.record_strategies import CODECS, damaged

BY_PROFILE = settings(deadline=None, print_blob=True)

DATA = st.binary(max_size=2000) | st.tuples(st.binary(max_size=20), st.integers(0, 20_000)).map(
    lambda drawn: drawn[0] * drawn[1]
)


@BY_PROFILE
@given(CODECS, DATA)
def test_what_is_compressed_comes_back(codec: Compression, data: bytes) -> None:
    assert decompress(codec, compress(codec, data), len(data)) == data


@BY_PROFILE
@given(CODECS, DATA, st.data())
def test_damaged_streams_stay_within_the_limit(codec: Compression, data: bytes, drawn: st.DataObject) -> None:
    stream = drawn.draw(damaged(st.just(bytearray(compress(codec, data)))))
    limit = drawn.draw(st.integers(0, 2 * len(data)))

    with suppress(RemoteProtocolError):
        assert len(decompress(codec, stream, limit)) <= limit


@BY_PROFILE
@given(st.integers(0, 7), st.binary(max_size=300), st.integers(0, 100_000))
def test_any_bytes_are_decompressed_or_refused(number: int, data: bytes, limit: int) -> None:
    with suppress(RemoteProtocolError):
        assert len(decompress(number, data, limit)) <= limit
