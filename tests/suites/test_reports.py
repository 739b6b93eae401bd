"""The runner itself: what it reads out of the suites' reports, and that its lists only grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from .go import go_outcomes
from .kafka_python import junit_outcomes
from .librdkafka import librdkafka_outcomes
from .rust import Rskafka
from .suite import FAILED, PASSED, SKIPPED, cargo_outcomes

CARGO = """
     Running tests/client.rs (target/debug/deps/client-11ab)

running 3 tests
test test_plain ... ok
test module::test_ignored ... ignored
test test_broken ... FAILED

     Running tests/consumer.rs (target/debug/deps/consumer-22cd)

running 1 test
test test_plain ... ok
"""

GO = """=== RUN   TestGroup
=== PAUSE TestGroup
    group_test.go:7: --- no result, a line of text
--- FAIL: TestGroup (1.00s)
    --- PASS: TestGroup/classic (0.50s)
    --- FAIL: TestGroup/newer (0.50s)
--- SKIP: TestShare (0.00s)
FAIL
"""

LIBRDKAFKA = """[main] \x1b[36m[0001_multiobj / 0.1s] Test 0001_multiobj PASSED
|\x1b[32m 0001_multiobj                            |     PASSED |   0.101s \x1b[0m|
|\x1b[31m 0052_msg_timestamps                      |     FAILED | 210.372s \x1b[0m|\x1b[31m a reason\x1b[0m
|\x1b[33m 0000_unittests                           |    SKIPPED |   0.000s \x1b[0m| Filtered
"""

JUNIT = """<testsuites><testsuite>
<testcase classname="test.one" name="passes" time="1"/>
<testcase classname="test.one" name="fails[a-b]" time="1"><failure message="no">text</failure></testcase>
<testcase classname="test.two" name="errs" time="1"><error message="no">text</error></testcase>
<testcase classname="test.two" name="waits" time="0"><skipped message="no">text</skipped></testcase>
</testsuite></testsuites>"""


def test_cargo_s_tests_are_told_apart_by_their_file() -> None:
    outcomes = cargo_outcomes(CARGO)

    assert outcomes == {
        "tests/client.rs::test_plain": PASSED,
        "tests/client.rs::module::test_ignored": SKIPPED,
        "tests/client.rs::test_broken": FAILED,
        "tests/consumer.rs::test_plain": PASSED,
    }


def test_pytest_s_failures_and_errors_are_both_failures() -> None:
    outcomes = junit_outcomes(JUNIT)

    assert outcomes == {
        "test.one::passes": PASSED,
        "test.one::fails[a-b]": FAILED,
        "test.two::errs": FAILED,
        "test.two::waits": SKIPPED,
    }


def test_go_s_parts_of_a_test_count_as_tests() -> None:
    outcomes = go_outcomes(GO)

    assert outcomes == {
        "TestGroup": FAILED,
        "TestGroup/classic": PASSED,
        "TestGroup/newer": FAILED,
        "TestShare": SKIPPED,
    }


def test_librdkafka_s_table_is_read_in_whatever_colour() -> None:
    outcomes = librdkafka_outcomes(LIBRDKAFKA)

    assert outcomes == {
        "0001_multiobj": PASSED,
        "0052_msg_timestamps": FAILED,
        "0000_unittests": SKIPPED,
    }


def test_accepting_adds_and_never_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.suites.suite.LISTS", tmp_path)
    suite = Rskafka()
    suite.list_path.write_text("b\na\n")

    suite.accept({"c"})

    assert suite.list_path.read_text() == "a\nb\nc\n"
