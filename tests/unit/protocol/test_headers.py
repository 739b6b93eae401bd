import pytest

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol.headers import (
    RequestHeader,
    peek_request,
    read_request_header,
    read_response_header,
    request_header,
)

METADATA_1 = b"\0\x03" + b"\0\x01" + b"\0\0\0\x07" + b"\0\x06client"
METADATA_12 = b"\0\x03" + b"\0\x0c" + b"\0\0\0\x07" + b"\0\x06client" + b"\0"
METADATA_12_WITH_A_TAG = METADATA_12[:-1] + b"\x01\x05\x02hi"
NO_CLIENT_ID = b"\0\x03" + b"\0\x01" + b"\0\0\0\x07" + b"\xff\xff"
API_VERSIONS_99 = b"\0\x12" + b"\0\x63" + b"\0\0\0\x07" + b"\0\x06client" + b"\0" + b"from the future"


def test_a_legacy_request_has_header_version_1() -> None:
    header = read_request_header(METADATA_1 + b"body", 0, len(METADATA_1) + 4)

    assert header == RequestHeader(3, 1, 7, "client", len(METADATA_1))


def test_a_flexible_request_has_header_version_2() -> None:
    header = read_request_header(METADATA_12 + b"body", 0, len(METADATA_12) + 4)

    assert header == RequestHeader(3, 12, 7, "client", len(METADATA_12))


def test_unknown_tagged_fields_of_a_header_are_skipped() -> None:
    header = read_request_header(METADATA_12_WITH_A_TAG, 0, len(METADATA_12_WITH_A_TAG))

    assert header.body_start == len(METADATA_12_WITH_A_TAG)


def test_a_header_may_lie_anywhere_in_a_buffer_of_any_kind() -> None:
    for kind in (bytes, bytearray, memoryview):
        buffer = kind(b"before" + METADATA_12 + b"body")

        header = read_request_header(buffer, 6, len(buffer))

        assert header == RequestHeader(3, 12, 7, "client", 6 + len(METADATA_12))


def test_a_client_may_have_no_id() -> None:
    assert read_request_header(NO_CLIENT_ID, 0, len(NO_CLIENT_ID)).client_id is None


def test_the_header_of_a_request_from_the_future_can_be_read() -> None:
    header = read_request_header(API_VERSIONS_99, 0, len(API_VERSIONS_99))

    assert (header.api_key, header.api_version, header.client_id) == (18, 99, "client")
    assert API_VERSIONS_99[header.body_start :] == b"from the future"


def test_peeking_needs_the_first_eight_bytes_only() -> None:
    assert peek_request(API_VERSIONS_99[:8], 0, 8) == (18, 99, 7)


def test_peeking_at_fewer_bytes_is_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        peek_request(API_VERSIONS_99, 0, 7)


@pytest.mark.parametrize("length", range(len(METADATA_12)))
def test_a_truncated_header_is_refused_whatever_follows_it(length: int) -> None:
    with pytest.raises(RemoteProtocolError):
        read_request_header(METADATA_12[:length], 0, length)
    with pytest.raises(RemoteProtocolError):
        read_request_header(METADATA_12, 0, length)


@pytest.mark.parametrize(
    "client_id",
    [b"\xff\xfe", b"\x80\0", b"\0\x02\xc3\x28", b"\x7f\xffclient"],
    ids=["-2", "min", "utf8", "long"],
)
def test_a_malformed_client_id_is_refused(client_id: bytes) -> None:
    request = METADATA_1[:8] + client_id

    with pytest.raises(RemoteProtocolError):
        read_request_header(request, 0, len(request))


@pytest.mark.parametrize("header", [METADATA_1, METADATA_12, NO_CLIENT_ID])
def test_a_written_header_is_the_one_that_was_read(header: bytes) -> None:
    read = read_request_header(header, 0, len(header))

    assert request_header(read.api_key, read.api_version, read.correlation_id, read.client_id) == header


def test_a_client_id_that_does_not_fit_is_not_written() -> None:
    with pytest.raises(LocalProtocolError):
        request_header(3, 1, 7, "x" * 40_000)


def test_a_legacy_response_header_is_the_correlation_id() -> None:
    assert read_response_header(3, 1, b"\0\0\0\x07body", 0, 8) == (7, 4)


def test_a_flexible_response_header_has_tagged_fields() -> None:
    assert read_response_header(3, 12, b"\0\0\0\x07\x01\x05\x02hibody", 0, 13) == (7, 9)


def test_the_response_header_of_api_versions_never_has_tagged_fields() -> None:
    assert read_response_header(18, 4, b"\0\0\0\x07body", 0, 8) == (7, 4)


@pytest.mark.parametrize("length", range(5))
def test_a_truncated_response_header_is_refused(length: int) -> None:
    with pytest.raises(RemoteProtocolError):
        read_response_header(3, 12, b"\0\0\0\x07\0", 0, length)
