"""Options of the topic sink: what is taken, and what is refused by its name."""

from __future__ import annotations

import pytest

from riverlog.errors import ConfigError
from riverlog.pipelines.sinks.options import MARKER_TOPIC, TRANSACTION_MS, topic_options

PLAIN = {"kafka.bootstrap.servers": "a:1", "topic": "totals"}


def test_a_sink_needs_an_address_and_nothing_else() -> None:
    options = topic_options({"bootstrap": "a:1"}, is_stream=True)

    assert (options.bootstrap, options.topic, options.sink_id, options.batch) == ("a:1", None, None, None)
    assert (options.marker_topic, options.transaction_ms) == (MARKER_TOPIC, TRANSACTION_MS)
    assert options.fails_on_change
    assert options.has_headers


def test_names_count_whatever_their_case_and_what_spark_hands_on_is_passed_over() -> None:
    given = {
        "KAFKA.Bootstrap.Servers": "a:1",
        "checkpointlocation": "/there",
        "queryName": "totals",
        "FAILONCHANGEDBATCH": "False",
        "includeheaders": "false",
        "sinkid": "left",
    }

    options = topic_options(given, is_stream=True)

    assert (options.bootstrap, options.sink_id) == ("a:1", "left")
    assert not options.fails_on_change
    assert not options.has_headers


def test_properties_of_the_client_library_are_handed_on() -> None:
    given = {
        **PLAIN,
        "kafka.compression.type": "zstd",
        "kafka.transaction.timeout.ms": "60000",
        "kafka.acks": "all",
    }

    options = topic_options(given, is_stream=True)

    assert dict(options.properties) == {"compression.type": "zstd", "acks": "all"}
    assert options.transaction_ms == 60_000


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"topc": "totals"}, "topc"),
        ({"batchId": "4"}, "batchId"),
        ({"kafka.transactional.id": "mine"}, "kafka.transactional.id"),
        ({"kafka.acks": "1"}, "kafka.acks"),
        ({"kafka.transaction.timeout.ms": "5"}, "kafka.transaction.timeout.ms"),
        ({"failOnChangedBatch": "maybe"}, "failOnChangedBatch"),
        ({"bootstrap": "b:2"}, "bootstrap"),
        ({"sinkId": ""}, "sinkId"),
    ],
)
def test_what_is_not_known_or_makes_no_sense_is_refused_by_its_name(
    changed: dict[str, str], named: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{named}="):
        topic_options({**PLAIN, **changed}, is_stream=True)


def test_a_sink_without_an_address_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers"):
        topic_options({"topic": "totals"}, is_stream=True)


def test_the_number_of_a_batch_write_counts_within_a_sink_that_has_a_name() -> None:
    assert topic_options({**PLAIN, "sinkId": "s", "batchId": "4"}, is_stream=False).batch == 4
    with pytest.raises(ConfigError, match="sinkId"):
        topic_options({**PLAIN, "batchId": "4"}, is_stream=False)
