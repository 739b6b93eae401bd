"""`riverlog.testing`: a real broker in somebody else's tests."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverlog.client import Admin, BrokerUnreachable, Producer, Span, SpanReader
from riverlog.errors import RiverlogError
from riverlog.testing import BrokerProcess, broker
from tests.process.raw_client import RawClient
from tests.semantics.asking import Topic
from tests.semantics.heartbeats import Group


@pytest.fixture
def running() -> Iterator[BrokerProcess]:
    with broker() as running:
        yield running


def produce(running: BrokerProcess, *values: bytes) -> None:
    with Producer(running.bootstrap) as producer:
        for value in values:
            producer.send("orders", value)


def consume(running: BrokerProcess, count: int) -> list[bytes | None]:
    reader = SpanReader(running.bootstrap, "orders", {0: Span(0, count)})
    try:
        return [record.value for batch in reader.batches() for record in batch]
    finally:
        reader.close()


def is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


def test_two_brokers_know_nothing_of_each_other(running: BrokerProcess) -> None:
    with broker() as other:
        produce(running, b"one")
        produce(other, b"two", b"three")

        assert running.bootstrap != other.bootstrap
        assert consume(running, 1) == [b"one"]
        assert consume(other, 2) == [b"two", b"three"]


def test_settings_are_passed_on() -> None:
    with (
        broker(num_partitions=3, auto_create_topics_enable=False) as running,
        Admin(running.bootstrap) as admin,
    ):
        admin.create_topic("orders")
        settings = {each.name: each.value for each in admin.broker_settings(1)}

        assert len(admin.topic("orders").partitions) == 3
        assert settings["auto.create.topics.enable"] == "false"


def test_members_report_often(running: BrokerProcess) -> None:
    """Members of groups that the broker assigns for learn what is new by that alone."""
    with RawClient(running.bootstrap) as client:
        group = Group(client, "often", Topic("orders", client.create_topic("orders")))

        reply = group.join("ann")

    assert reply.heartbeat_interval_ms == 100


def test_a_wrong_setting_is_refused_in_the_brokers_words() -> None:
    with (
        pytest.raises(RiverlogError, match=r"num\.partitions='0'.* is not accepted"),
        broker(num_partitions=0),
    ):
        pass


def test_a_developers_variables_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIVERLOG_NUM_PARTITIONS", "7")

    with broker() as running, Admin(running.bootstrap) as admin:
        admin.create_topic("orders")

        assert len(admin.topic("orders").partitions) == 1


def test_it_is_gone_with_its_block_and_so_is_its_data() -> None:
    with broker() as running:
        process_id, data = running.process_id, running.data
        assert data.is_dir()

    assert not is_alive(process_id)
    assert not data.parent.exists()
    with pytest.raises(RiverlogError, match="does not run"):
        running.process_id  # noqa: B018  # asked for its effect


def test_after_a_stop_it_has_its_address_and_records_again(running: BrokerProcess) -> None:
    produce(running, b"one")
    address = running.bootstrap

    running.stop()
    with pytest.raises(BrokerUnreachable):
        Admin(address).topic_names()
    running.start()

    assert running.bootstrap == address
    assert consume(running, 1) == [b"one"]


def test_after_a_crash_it_has_its_address_and_records_again(running: BrokerProcess) -> None:
    produce(running, b"one")
    address = running.bootstrap

    running.kill()
    running.start()

    assert running.bootstrap == address
    assert consume(running, 1) == [b"one"]


def test_a_broker_that_hangs_answers_nothing_until_it_goes_on(running: BrokerProcess) -> None:
    running.pause()
    with pytest.raises(BrokerUnreachable):
        Admin(running.bootstrap, timeout_seconds=0.5).topic_names()
    running.resume()

    assert Admin(running.bootstrap).topic_names() == []


def test_what_it_says_can_be_read(running: BrokerProcess) -> None:
    running.stop()

    assert "stopping" in running.log()


def test_it_ends_with_the_program_that_started_it_however_that_ends() -> None:
    program = (
        "import os, riverlog.testing\n"
        "with riverlog.testing.broker() as running:\n"
        "    print(running.bootstrap, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )

    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert killed.returncode == -9
    await_silence(killed.stdout.strip())


def await_silence(address: str) -> None:
    """Wait until nobody listens at an address any more."""
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), 1).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.01)
    raise AssertionError(f"somebody still listens at {address}")


def test_fixtures_are_found_by_any_project(tmp_path: Path) -> None:
    (tmp_path / "test_fixtures.py").write_text(
        "import pytest\n"
        "from riverlog.client import Admin\n"
        "\n"
        "@pytest.fixture(scope='session')\n"
        "def riverlog_broker_settings():\n"
        "    return {'num_partitions': 4}\n"
        "\n"
        "seen = set()\n"
        "\n"
        "@pytest.mark.parametrize('number', [1, 2])\n"
        "def test_topics(riverlog_broker, riverlog_topic, riverlog_new_topic, number):\n"
        "    other = riverlog_new_topic(partitions=3, cleanup_policy='compact')\n"
        "    assert not seen & {riverlog_topic, other}\n"
        "    seen.update({riverlog_topic, other})\n"
        "    with Admin(riverlog_broker.bootstrap) as admin:\n"
        "        assert len(admin.topic(riverlog_topic).partitions) == 1\n"
        "        assert len(admin.topic(other).partitions) == 3\n"
        "        settings = {each.name: each.value for each in admin.topic_settings(other)}\n"
        "        assert settings['cleanup.policy'] == 'compact'\n"
        "        admin.create_topic(f'default-{number}')\n"
        "        assert len(admin.topic(f'default-{number}').partitions) == 4\n"
    )

    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 passed" in finished.stdout, finished.stdout + finished.stderr
