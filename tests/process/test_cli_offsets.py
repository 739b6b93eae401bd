"""`riverlog offsets` against a running broker."""

from collections.abc import Callable

from tests.process.command import Riverlog


def test_offsets_and_times_are_shown_per_partition(riverlog: Riverlog, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    lines = [f'{{"value": "x", "partition": 1, "timestamp": {1000 * number}}}' for number in (1, 2, 3)]
    riverlog("produce", topic, "--json", stdin="\n".join(lines).encode())

    empty, filled = riverlog("offsets", topic, "--at", "@2000", "--at", "@9000", "--json").objects

    assert empty == {
        "topic": topic,
        "partition": 0,
        "earliest": 0,
        "end": 0,
        "newest_timestamp": None,
        "at": {"2000": None, "9000": None},
    }
    assert filled["end"] == 3
    assert filled["newest_timestamp"] == 3000
    assert filled["at"] == {"2000": 1, "9000": None}


def test_a_table_shows_the_distance(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, stdin=b"a\nb\n")

    heading, row = riverlog("offsets", topic, "-p", "0").lines

    assert heading.split() == ["partition", "earliest", "end", "distance", "newest"]
    assert row.split()[:4] == ["0", "0", "2", "2"]


def test_an_unknown_topic_is_refused_by_name(riverlog: Riverlog) -> None:
    refused = riverlog("offsets", "no-such-topic", expect=1)

    assert refused.err.startswith("riverlog: topic 'no-such-topic' does not exist: ")


def test_a_place_that_is_no_time_is_wrong_usage(riverlog: Riverlog, topic: str) -> None:
    refused = riverlog("offsets", topic, "--at", "17", expect=2)

    assert "--at expects a time" in refused.err
