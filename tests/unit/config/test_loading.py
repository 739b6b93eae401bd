"""From file, environment and flags to settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverlog.config.effective import BrokerConfig
from riverlog.config.listeners import Listener
from riverlog.config.loading import load_config
from riverlog.config.problems import each_problem
from riverlog.config.settings import BrokerSettings
from riverlog.config.table import BROKER_NAMES
from riverlog.errors import ConfigError

KRAFT_FILE = """
# as Kafka 4 ships it
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""
ZOOKEEPER_FILE = """
broker.id=0
listeners=PLAINTEXT://:9092
num.network.threads=3
log.dirs=/tmp/kafka-logs
log.message.format.version=2.8
inter.broker.protocol.version=2.8
zookeeper.connect=localhost:2181/kafka
zookeeper.connection.timeout.ms=18000
group.initial.rebalance.delay.ms=0
"""


def file(tmp_path: Path, content: str, name: str = "server.properties") -> str:
    path = tmp_path / name
    path.write_text(content)
    return str(path)


def problems(**sources: object) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        load_config(**sources)  # type: ignore[arg-type]  # each test names its own sources
    return [str(problem) for problem in each_problem(raised.value)]


def where(config: BrokerConfig, name: str) -> str:
    return config.chain(BROKER_NAMES[name])[0].where


def test_without_any_source_the_defaults_serve_this_machine() -> None:
    config = load_config()

    assert config.settings == BrokerSettings()
    assert config.settings.network.listeners == (Listener("PLAINTEXT", "127.0.0.1", 9092),)
    assert config.settings.log.log_dirs == ("./riverlog-data",)
    assert config.warnings == ()


def test_flags_beat_the_environment_which_beats_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, "num.partitions=2\nmax.connections=2\n\nlog.retention.ms=2")
    environment = {"RIVERLOG_NUM_PARTITIONS": "3", "RIVERLOG_MAX_CONNECTIONS": "3", "HOME": "/"}

    config = load_config(file=path, environment=environment, flags=["num.partitions = 4"])

    assert config.settings.admin.num_partitions == 4
    assert config.settings.network.max_connections == 3
    assert config.settings.topic_defaults.retention_ms == 2
    assert where(config, "num.partitions") == "--set"
    assert where(config, "max.connections") == "environment variable RIVERLOG_MAX_CONNECTIONS"
    assert where(config, "log.retention.ms") == f"{path}, line 4"


def test_a_variable_may_name_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, "num.partitions=2")

    config = load_config(environment={"RIVERLOG_CONFIG": path})

    assert config.settings.admin.num_partitions == 2


def test_variables_of_kafka_are_not_read() -> None:
    config = load_config(environment={"KAFKA_NUM_PARTITIONS": "9", "KAFKA_HEAP_OPTS": "-Xmx1G"})

    assert config.settings.admin.num_partitions == 1


def test_port_and_data_are_short_forms_and_beat_every_other_flag() -> None:
    flags = ["listeners=PLAINTEXT://0.0.0.0:1", "log.dirs=a,b"]

    config = load_config(flags=flags, port=0, data="here")

    assert config.settings.network.listeners == (Listener("PLAINTEXT", "127.0.0.1", 0),)
    assert config.settings.log.log_dirs == ("here",)
    assert (where(config, "listeners"), where(config, "log.dirs")) == ("--port", "--data")


def test_the_last_of_two_equal_flags_counts() -> None:
    assert load_config(flags=["num.partitions=2", "num.partitions=3"]).settings.admin.num_partitions == 3


def test_a_flag_may_hold_an_equals_sign_in_its_value() -> None:
    assert load_config(flags=["broker.rack=a=b"]).settings.node.broker_rack == "a=b"


def test_kafkas_own_kraft_file_is_accepted_with_one_warning(tmp_path: Path) -> None:
    config = load_config(file=file(tmp_path, KRAFT_FILE))

    assert config.settings.network.listeners == (Listener("PLAINTEXT", "", 9092),)
    assert config.settings.network.advertised_listeners == (Listener("PLAINTEXT", "localhost", 9092),)
    assert config.settings.groups.offsets_topic_replication_factor == 1
    (warning,) = config.warnings
    assert warning == (
        "5 settings have no effect here: controller.quorum.bootstrap.servers, process.roles (there is no"
        " controller quorum); inter.broker.listener.name (listeners are plain and open to all so far);"
        " num.io.threads, num.network.threads (one event loop serves every request)"
    )


def test_kafkas_own_zookeeper_file_is_accepted_with_one_warning(tmp_path: Path) -> None:
    config = load_config(file=file(tmp_path, ZOOKEEPER_FILE))

    assert config.settings.node.node_id == 0
    assert config.settings.coordination.zookeeper_connect == "localhost:2181/kafka"
    assert config.settings.groups.group_initial_rebalance_delay_ms == 0
    (warning,) = config.warnings
    assert warning.startswith("3 settings have no effect here: inter.broker.protocol.version,")


def test_a_single_setting_without_effect_is_named_too() -> None:
    (warning,) = load_config(environment={"RIVERLOG_NUM_IO_THREADS": "8"}).warnings

    assert warning == "1 setting has no effect here: num.io.threads (one event loop serves every request)"


def test_a_setting_without_effect_keeps_its_value_to_itself() -> None:
    (warning,) = load_config(flags=["ssl.keystore.password=hunter2"]).warnings

    assert "hunter2" not in warning


def test_an_unknown_name_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    path = file(tmp_path, "log.retention.sm=5")

    (problem,) = problems(file=path)

    assert problem == (
        f"log.retention.sm='5' (from {path}, line 1) is not accepted:"
        " expected the name of a setting; did you mean log.retention.ms?"
    )


@pytest.mark.parametrize("variable", ["RIVERLOG_CACHE", "RIVERLOG_LAB", "RIVERLOG_TEST_BOOTSTRAP"])
def test_a_variable_that_resembles_no_setting_is_named_in_a_warning(variable: str) -> None:
    config = load_config(environment={variable: "x", "RIVERLOG_NUM_PARTITIONS": "3"})

    assert config.warnings == (f"not settings, and not read: {variable}",)
    assert config.settings.admin.num_partitions == 3


def test_an_unknown_variable_is_refused_with_the_one_that_was_meant() -> None:
    (problem,) = problems(environment={"RIVERLOG_NUM_PARTITION": "5"})

    assert problem == (
        "RIVERLOG_NUM_PARTITION='5' is not accepted:"
        " expected the name of a variable; did you mean RIVERLOG_NUM_PARTITIONS?"
    )


def test_all_problems_of_all_sources_are_reported_together(tmp_path: Path) -> None:
    path = file(tmp_path, "num.partitions=0\nnonsense=1")

    found = problems(file=path, environment={"RIVERLOG_DURABILITY": "hope"}, flags=["x"], port=70000)

    assert [problem.split(" is not accepted: ")[0] for problem in found] == [
        f"nonsense='1' (from {path}, line 2)",
        "--set='x'",
        f"num.partitions='0' (from {path}, line 1)",
        "durability='hope' (from environment variable RIVERLOG_DURABILITY)",
        "port='70000' (from --port)",
    ]
    assert found[2].endswith("expected a whole number from 1 to 2147483647")


@pytest.mark.parametrize(
    "flag",
    [
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "remote.log.storage.system.enable=true",
    ],
)
def test_a_promise_that_would_not_be_kept_is_refused(flag: str) -> None:
    (problem,) = problems(flags=[flag])

    assert "is not accepted" in problem


def test_a_promise_that_asks_for_nothing_is_accepted() -> None:
    config = load_config(flags=["authorizer.class.name=", "remote.log.storage.system.enable=false"])

    assert config.warnings == ()


TOML_FILES = {
    "quoted": '"log.retention.ms" = 60000\n"log.dirs" = ["a", "b"]\n"auto.create.topics.enable" = false',
    "dotted": 'log.retention.ms = 60000\nlog.dirs = "a,b"\nauto.create.topics.enable = false',
    "nested": '[log]\nretention.ms = 60000\ndirs = ["a","b"]\n[auto.create.topics]\nenable = false',
}


@pytest.mark.parametrize("content", TOML_FILES.values(), ids=TOML_FILES.keys())
def test_toml_keys_may_be_quoted_dotted_or_nested(tmp_path: Path, content: str) -> None:
    config = load_config(file=file(tmp_path, content, "riverlog.toml"))

    assert config.settings.topic_defaults.retention_ms == 60_000
    assert config.settings.log.log_dirs == ("a", "b")
    assert config.settings.admin.auto_create_topics_enable is False
    assert where(config, "log.dirs") == str(tmp_path / "riverlog.toml")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("a = ", "x.toml"),
        ("num.partitions = 2026-01-01", "x.toml"),
        ("log.dirs = [1, 2]", "x.toml"),
        ("a=\\u00", "x.properties"),
    ],
)
def test_a_file_that_cannot_be_understood_is_refused_by_name(tmp_path: Path, content: str, name: str) -> None:
    path = file(tmp_path, content, name)

    (problem,) = problems(file=path)

    assert problem.startswith(f"--config='{path}' is not accepted: expected a file of settings (")


def test_a_file_that_is_not_text_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "x.properties"
    path.write_bytes(b"a=\xff\xfe")

    (problem,) = problems(file=str(path))

    assert "expected a file of settings" in problem


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    path = str(tmp_path / "nowhere.properties")

    assert problems(file=path) == [
        f"--config='{path}' is not accepted: expected a file that can be read (No such file or directory)"
    ]
