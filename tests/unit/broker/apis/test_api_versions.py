"""ApiVersions: rows 2 to 4."""

from __future__ import annotations

import pytest

from riverlog.broker.apis.api_versions import describe, is_software
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.wire import write_request
from tests.unit.broker.apis.asking import AskedBroker

SOFTWARE = {"client_software_name": "a-client", "client_software_version": "1.2.3"}


@pytest.mark.parametrize("version", range(5))
def test_every_version_lists_what_is_answered(asked: AskedBroker, version: int) -> None:
    answer = asked.ask(messages.ApiVersionsRequest(**SOFTWARE), version)

    versions = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert answer.error_code == 0
    assert versions[18] == (0, 4)
    assert versions[3] == (0, 13)
    assert versions[0][0] == 0
    assert list(versions) == sorted(versions)


def test_the_client_is_remembered_by_what_it_says_of_itself(asked: AskedBroker) -> None:
    asked.ask(messages.ApiVersionsRequest(**SOFTWARE))

    assert (asked.connection.software_name, asked.connection.software_version) == ("a-client", "1.2.3")


@pytest.mark.parametrize("text", ["a", "librdkafka", "apache-kafka-java", "4.3.1", "v2.0-rc.1", "0"])
def test_software_is_named_by_letters_and_digits_with_dots_and_dashes_between(text: str) -> None:
    assert is_software(text)


@pytest.mark.parametrize("text", ["", "-a", "a-", ".a", "a.", "a b", "a_b", "ä", "a\n", "a/b"])
def test_anything_else_names_no_software(text: str) -> None:
    assert not is_software(text)


def test_a_client_that_misnames_itself_is_refused_from_version_3_on(asked: AskedBroker) -> None:
    older = asked.ask(messages.ApiVersionsRequest(), 2)
    newer = asked.ask(messages.ApiVersionsRequest(), 3)

    assert older.error_code == 0
    assert (newer.error_code, newer.api_keys) == (ErrorCode.INVALID_REQUEST, [])


def test_an_unknown_version_is_answered_in_version_0_with_the_known_range(asked: AskedBroker) -> None:
    frame = bytearray(write_request(18, 4, 77, None, messages.ApiVersionsRequest(**SOFTWARE)))
    frame[6:8] = (99).to_bytes(2, "big")

    reply = asked._dispatcher(asked.connection, frame, 4, len(frame))

    entry = (18).to_bytes(2, "big") + (0).to_bytes(2, "big") + (4).to_bytes(2, "big")
    assert reply == b"\0\0\0\x10" + (77).to_bytes(4, "big") + b"\0\x23" + b"\0\0\0\x01" + entry


def test_features_are_told_with_their_levels() -> None:
    answer = describe([], {"group.version": 1})

    assert answer.supported_features == [
        messages.SupportedFeatureKey(name="group.version", min_version=0, max_version=1)
    ]
    assert answer.finalized_features == [
        messages.FinalizedFeatureKey(name="group.version", max_version_level=1, min_version_level=1)
    ]
    assert answer.finalized_features_epoch >= 0


def test_a_reader_that_fails_on_level_0_is_not_told_of_it() -> None:
    (older,) = describe([], {"group.version": 1}, 3).supported_features
    (newer,) = describe([], {"group.version": 1}, 4).supported_features

    assert (older.min_version, newer.min_version) == (1, 0)


def test_newer_producers_are_told_that_the_epoch_rises_with_each_transaction(asked: AskedBroker) -> None:
    answer = asked.ask(messages.ApiVersionsRequest(client_software_name="a", client_software_version="1"))

    levels = {each.name: each.max_version_level for each in answer.finalized_features}
    assert levels["transaction.version"] == 2
