"""`riverlog config describe/set/unset` against a running broker."""

import pytest

from tests.process.command import Riverlog


@pytest.fixture
def broker_id(riverlog: Riverlog, topic: str) -> str:
    [described] = riverlog("topics", "describe", topic, "--json").objects
    return str(described["partitions"][0]["leader"])


def described(riverlog: Riverlog, topic: str, name: str) -> dict[str, object]:
    [setting] = riverlog("config", "describe", "--topic", topic, name, "--json").objects
    return setting


def test_a_topics_setting_is_set_shown_and_unset(riverlog: Riverlog, topic: str) -> None:
    before = described(riverlog, topic, "retention.ms")

    changed = riverlog("config", "set", "--topic", topic, "retention.ms=5000", "cleanup.policy=compact")
    after = described(riverlog, topic, "retention.ms")
    back = riverlog("config", "unset", "retention.ms", "--topic", topic)

    assert before["is_default"] is True
    assert changed.lines == [
        f"topic {topic}: retention.ms=5000 set (was {before['value']})",
        f"topic {topic}: cleanup.policy=compact set (was delete)",
    ]
    assert (after["value"], after["source"], after["is_default"]) == ("5000", "topic", False)
    assert back.lines == [f"topic {topic}: retention.ms unset (was 5000)"]
    assert described(riverlog, topic, "retention.ms") == before


def test_without_names_only_what_differs_is_shown(riverlog: Riverlog, topic: str) -> None:
    riverlog("config", "set", "--topic", topic, "retention.ms=5000")

    some = riverlog("config", "describe", "--topic", topic, "--json").objects
    everything = riverlog("config", "describe", "--topic", topic, "--all", "--json").objects

    assert "retention.ms" in {setting["name"] for setting in some}
    assert "index.interval.bytes" not in {setting["name"] for setting in some}
    assert "index.interval.bytes" in {setting["name"] for setting in everything}


def test_a_dry_run_checks_and_changes_nothing(riverlog: Riverlog, topic: str) -> None:
    before = described(riverlog, topic, "retention.ms")

    tried = riverlog("config", "set", "--topic", topic, "retention.ms=5000", "--dry-run")
    refused = riverlog("config", "set", "--topic", topic, "retention.ms=soon", "--dry-run", expect=1)

    assert tried.lines == [f"topic {topic}: retention.ms=5000 would be set (was {before['value']})"]
    assert "retention.ms" in refused.err
    assert described(riverlog, topic, "retention.ms") == before


def test_of_several_changes_all_are_made_or_none(riverlog: Riverlog, topic: str) -> None:
    before = described(riverlog, topic, "retention.ms")

    riverlog("config", "set", "--topic", topic, "retention.ms=5000", "segment.ms=never", expect=1)

    assert described(riverlog, topic, "retention.ms") == before


def test_a_misspelt_setting_is_answered_with_the_one_that_was_meant(riverlog: Riverlog, topic: str) -> None:
    for command in ("describe", "unset"):
        refused = riverlog("config", command, "--topic", topic, "retention.m", expect=1)
        assert refused.err == (
            f"riverlog: topic {topic} has no setting 'retention.m': did you mean retention.ms?\n"
        )


def test_a_brokers_setting_is_changed_while_it_runs(riverlog: Riverlog, broker_id: str) -> None:
    changed = riverlog("config", "set", "--broker", broker_id, "log.cleaner.threads=2")
    [setting] = riverlog("config", "describe", "--broker", broker_id, "log.cleaner.threads", "--json").objects
    riverlog("config", "unset", "--broker", broker_id, "log.cleaner.threads")

    assert changed.lines[0].startswith(f"broker {broker_id}: log.cleaner.threads=2 set (was ")
    assert (setting["value"], setting["source"]) == ("2", "broker")


def test_what_needs_a_restart_is_refused(riverlog: Riverlog, broker_id: str) -> None:
    refused = riverlog("config", "set", "--broker", broker_id, "node.id=9", expect=1)

    assert refused.err.startswith(f"riverlog: changing settings of broker {broker_id} failed: ")
    assert "node.id" in refused.err


def test_a_broker_that_is_not_there_is_answered_with_those_that_are(
    riverlog: Riverlog, broker_id: str
) -> None:
    refused = riverlog("config", "describe", "--broker", "77", expect=1)

    assert refused.err == f"riverlog: no broker has the id 77: running are {broker_id}\n"


def test_an_unknown_topic_is_refused_by_name(riverlog: Riverlog) -> None:
    for arguments in (["describe"], ["set", "retention.ms=1"]):
        refused = riverlog("config", *arguments, "--topic", "no-such-topic", expect=1)
        assert "topic 'no-such-topic' does not exist" in refused.err
