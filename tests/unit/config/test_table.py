"""The table finds a setting by any of its names."""

from __future__ import annotations

from riverlog.config.kinds import ConfigType
from riverlog.config.known import ONLY_ACCEPTED, WITHOUT_EFFECT
from riverlog.config.table import BROKER_NAMES, ROWS, environment_name


def test_names_of_one_setting_stand_in_the_order_of_kafkas_precedence() -> None:
    families = {row.names for row in ROWS if len(row.names) > 1}

    assert families == {
        ("node.id", "broker.id"),
        ("listeners", "port"),
        ("log.dirs", "log.dir"),
        ("log.roll.ms", "log.roll.hours"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
        ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    }


def test_no_name_belongs_to_two_settings() -> None:
    names = [name for row in ROWS for name in row.names]

    assert len(names) == len(set(names)) == len(BROKER_NAMES)


def test_no_two_names_share_an_environment_variable() -> None:
    names = [*BROKER_NAMES, *WITHOUT_EFFECT, *ONLY_ACCEPTED]

    assert len({environment_name(name) for name in names}) == len(names)


def test_a_variable_is_the_name_in_capitals() -> None:
    assert environment_name("log.retention.ms") == "RIVERLOG_LOG_RETENTION_MS"


def test_a_coarser_name_has_its_own_type_and_gives_the_finer_value() -> None:
    row = BROKER_NAMES["log.retention.hours"]

    assert row is BROKER_NAMES["log.retention.ms"]
    assert row.kind_of("log.retention.ms").type is ConfigType.LONG
    assert row.kind_of("log.retention.hours").type is ConfigType.INT
    assert row.value_from("log.retention.hours", "2") == 7_200_000


def test_only_one_name_of_a_family_shows_the_default() -> None:
    row = BROKER_NAMES["log.retention.ms"]

    assert [row.default_text(name) for name in row.names] == [None, None, "168"]


def test_both_names_of_the_same_thing_show_the_default() -> None:
    row = BROKER_NAMES["node.id"]

    assert [row.default_text(name) for name in row.names] == ["1", "1"]
