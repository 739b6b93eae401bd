"""librdkafka's errors as ours."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from riverlog.client.refusals import (
    BrokerUnreachable,
    TopicExists,
    UnknownTopic,
    error_text,
    is_passing,
    refusal,
    refusal_of,
)
from riverlog.errors import RequestRefused


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN])
def test_silence_is_told_with_its_likely_cause(code: int) -> None:
    error = refusal(KafkaError(code), "listing topics", last_trouble="SSL handshake failed")

    assert isinstance(error, BrokerUnreachable)
    assert str(error).startswith("no usable answer while listing topics: SSL handshake failed.")


@pytest.mark.parametrize(
    ("code", "family"),
    [
        (KafkaError.UNKNOWN_TOPIC_OR_PART, UnknownTopic),
        (KafkaError._UNKNOWN_PARTITION, UnknownTopic),
        (KafkaError.TOPIC_ALREADY_EXISTS, TopicExists),
        (KafkaError.INVALID_CONFIG, RequestRefused),
    ],
)
def test_a_refusal_belongs_to_its_family_and_keeps_its_number(
    code: int, family: type[RequestRefused]
) -> None:
    error = refusal(KafkaError(code), "creating topic 'orders'")

    assert type(error) is family
    assert error.error_code == code
    assert str(error).startswith("creating topic 'orders' failed: ")


def test_the_brokers_own_words_are_kept_with_the_errors_name() -> None:
    error = KafkaError(KafkaError.INVALID_CONFIG, "Invalid value abc for retention.ms.")

    assert error_text(error) == "Invalid value abc for retention.ms (INVALID_CONFIG)"


def test_a_local_error_needs_no_name() -> None:
    assert error_text(KafkaError(KafkaError._TIMED_OUT)) == "Timed out"


def test_a_record_that_is_too_large_names_the_setting() -> None:
    text = error_text(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))

    assert text == "larger than the topic's max.message.bytes allows (MSG_SIZE_TOO_LARGE)"


def test_the_error_inside_an_exception_is_translated() -> None:
    exception = KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS))

    assert isinstance(refusal_of(exception, "creating"), TopicExists)


def test_only_moving_leadership_is_worth_asking_again_at_once() -> None:
    assert is_passing(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
    assert is_passing(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
    assert not is_passing(KafkaError(KafkaError.INVALID_CONFIG))
    assert not is_passing(KafkaError(KafkaError._TIMED_OUT))
