import pytest

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol import headers, messages, wire

HEARTBEAT_RESPONSE_0 = b"\0\0\0\x06" + b"\0\0\0\x07" + b"\0\x1b"
HEARTBEAT_RESPONSE_4 = b"\0\0\0\x0c" + b"\0\0\0\x07" + b"\0" + b"\0\0\0\0" + b"\0\x1b" + b"\0"
API_VERSIONS_RESPONSE_3 = b"\0\0\0\x0c" + b"\0\0\0\x07" + b"\0\0" + b"\x01" + b"\0\0\0\0" + b"\0"


@pytest.mark.parametrize(("version", "frame"), [(0, HEARTBEAT_RESPONSE_0), (4, HEARTBEAT_RESPONSE_4)])
def test_a_response_is_a_frame_with_the_header_of_its_version(version: int, frame: bytes) -> None:
    assert wire.write_response(12, version, 7, messages.HeartbeatResponse(error_code=27)) == frame


def test_api_versions_answers_with_the_old_header_around_a_flexible_body() -> None:
    assert wire.write_response(18, 3, 7, messages.ApiVersionsResponse()) == API_VERSIONS_RESPONSE_3


@pytest.mark.parametrize(("key", "version"), [(12, 0), (12, 4), (18, 0), (18, 3), (18, 4)])
def test_a_response_is_read_back_with_its_correlation_id(key: int, version: int) -> None:
    response = (
        messages.HeartbeatResponse(error_code=27)
        if key == 12
        else messages.ApiVersionsResponse(error_code=35)
    )
    frame = wire.write_response(key, version, 7, response)

    correlation_id, read = wire.read_response(key, version, frame, 4, len(frame))

    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert correlation_id == 7
    assert read == response


@pytest.mark.parametrize("version", range(5))
def test_a_request_is_read_back_behind_its_header(version: int) -> None:
    request = messages.HeartbeatRequest(group_id="g", generation_id=5, member_id="m")
    frame = wire.write_request(12, version, 7, "client", request)

    header = headers.read_request_header(frame, 4, len(frame))
    read = wire.read_request(header.api_key, header.api_version, frame, header.body_start, len(frame))

    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert (header.api_key, header.api_version, header.correlation_id, header.client_id) == (
        12,
        version,
        7,
        "client",
    )
    assert read == request


def test_a_request_that_is_cut_short_is_refused_whatever_follows_it() -> None:
    frame = wire.write_request(12, 4, 7, None, messages.HeartbeatRequest())
    header = headers.read_request_header(frame, 4, len(frame))

    with pytest.raises(RemoteProtocolError):
        wire.read_request(12, 4, frame + frame, header.body_start, len(frame) - 1)


def test_a_version_whose_encoding_is_unknown_is_our_own_mistake() -> None:
    with pytest.raises(LocalProtocolError):
        wire.read_request(0, 2, b"", 0, 0)
    with pytest.raises(LocalProtocolError):
        wire.write_response(18, 99, 7, messages.ApiVersionsResponse())
