"""The room as a whole: what it exports, and what importing it costs."""

import subprocess
import sys

import pytest

from riverlog import client


@pytest.mark.parametrize("name", client.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(client, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Consumer'"):
        client.Consumer  # noqa: B018  # asked for its effect


def test_importing_the_room_does_not_load_librdkafka() -> None:
    program = "import sys, riverlog.client; sys.exit('confluent_kafka' in sys.modules)"

    finished = subprocess.run([sys.executable, "-c", program], check=False)

    assert finished.returncode == 0
