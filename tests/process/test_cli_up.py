"""`riverlog up`: start, refuse to start, stop."""

import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live_broker import LiveBroker
from tests.process.command import EXECUTABLE, Riverlog


@pytest.fixture
def started(tmp_path: Path) -> Iterator[LiveBroker]:
    with LiveBroker(tmp_path / "data") as running:
        yield running


def up(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `riverlog up` where it is expected to end by itself."""
    return subprocess.run(
        [EXECUTABLE, "up", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        env=Riverlog("").environment(),
        check=False,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_both_signals_stop_it_cleanly(started: LiveBroker, tmp_path: Path, number: signal.Signals) -> None:
    started.process.send_signal(number)
    code = started.process.wait(30)

    assert code == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    started.kill()


def test_records_survive_a_restart(tmp_path: Path) -> None:
    with LiveBroker(tmp_path / "data") as running:
        Riverlog(running.bootstrap)("produce", "orders", stdin=b"a\nb\n")

    with LiveBroker(tmp_path / "data") as running:
        assert Riverlog(running.bootstrap)("consume", "orders").lines == ["a", "b"]


def test_a_second_start_on_the_same_data_is_refused_by_name(started: LiveBroker, tmp_path: Path) -> None:
    refused = up("--port", "0", "--data", str(tmp_path / "data"))

    assert refused.returncode == 1
    assert refused.stderr.startswith("riverlog: ")
    assert str(tmp_path / "data") in refused.stderr
    assert str(started.process.pid) in refused.stderr
    assert "Traceback" not in refused.stderr
    assert Riverlog(started.bootstrap)("topics", "list").out == b""


def test_a_port_that_is_taken_is_refused_by_name(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = up("--port", str(port), "--data", str(tmp_path / "data"))

    assert refused.returncode == 1
    assert refused.stderr.startswith("riverlog: ")
    assert str(port) in refused.stderr
    assert "Traceback" not in refused.stderr


def test_wrong_settings_are_all_named_and_nothing_is_touched(tmp_path: Path) -> None:
    refused = up("--data", str(tmp_path / "data"), "--set", "num.partitions=0", "--set", "num.partitons=1")

    lines = refused.stderr.splitlines()
    assert refused.returncode == 2
    assert len(lines) == 2
    assert any("num.partitions='0'" in line for line in lines)
    assert any("did you mean num.partitions?" in line for line in lines)
    assert not (tmp_path / "data").exists()


def test_data_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    refused = up("--port", "0", "--data", str(tmp_path / "file"))

    assert refused.returncode == 1
    assert str(tmp_path / "file") in refused.stderr
    assert "Traceback" not in refused.stderr


def test_settings_of_a_file_are_in_force(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("num.partitions=3\nnum.io.threads=8\n")
    arguments = ["--port", "0", "--data", str(tmp_path / "data")]

    with Riverlog("").started("up", *arguments, "--config", str(tmp_path / "server.properties")) as process:
        assert process.stdout is not None
        riverlog = Riverlog(process.stdout.readline().decode().removeprefix("listening on ").strip())
        riverlog("topics", "create", "orders")
        [described] = riverlog("topics", "describe", "orders", "--json").objects
        process.terminate()
        _, error = process.communicate(timeout=30)

    assert len(described["partitions"]) == 3
    assert "1 setting has no effect here: num.io.threads" in error.decode()


def test_its_logs_can_be_dumped_and_are_sound(tmp_path: Path) -> None:
    with LiveBroker(tmp_path / "data") as running:
        Riverlog(running.bootstrap)("produce", "orders", "-z", "lz4", "-K", ":", stdin=b"a:1\nb:2\n")
    riverlog = Riverlog("")

    dumped = riverlog("log", "dump", str(tmp_path / "data" / "orders-0"), "--records", "--json").objects
    summed_up = riverlog("log", "dump", str(tmp_path / "data"), "--summary")

    assert [(each["key"], each["value"]) for each in dumped if each["kind"] == "record"] == [
        ("a", "1"),
        ("b", "2"),
    ]
    assert summed_up.lines[-1].endswith(": all sound")


def test_it_stops_when_the_program_that_started_it_is_gone(tmp_path: Path) -> None:
    arguments = ["--port", "0", "--data", str(tmp_path / "data")]

    with Riverlog("").started("up", *arguments, "--stop-at-eof") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"listening on ")
        process.stdin.close()

        assert process.wait(30) == 0
