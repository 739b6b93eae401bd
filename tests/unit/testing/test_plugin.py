"""Names of topics that belong to a test."""

import subprocess
import sys

import pytest

from riverlog.testing.plugin import NAME_CHARACTERS_MAX, topic_name


@pytest.mark.parametrize(
    ("test_name", "topic"),
    [
        ("test_orders", "test_orders-5"),
        ("test_orders[gzip-all]", "test_orders-gzip-all-5"),
        ("test_é[ /:]", "test_-5"),
        ("[", "-5"),
    ],
)
def test_a_topic_is_named_after_its_test_in_legal_letters(test_name: str, topic: str) -> None:
    assert topic_name(test_name, 5) == topic


def test_a_long_name_is_cut_and_stays_unique() -> None:
    first, second = topic_name("t" * 500, 1), topic_name("t" * 500, 2)

    assert first != second
    assert len(first) == NAME_CHARACTERS_MAX + 2


def test_pytest_pays_nothing_for_the_plugin_until_it_is_used() -> None:
    program = (
        "import sys, pytest, riverlog.testing.plugin\n"
        "heavy = {'confluent_kafka', 'riverlog.client', 'riverlog.broker'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )

    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert (finished.returncode, finished.stderr) == (0, b"")
