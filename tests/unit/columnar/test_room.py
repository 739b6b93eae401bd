"""The room as a whole: what it needs, and what is told to those who lack it."""

from __future__ import annotations

import subprocess
import sys

WITHOUT_ARROW = "import sys; sys.modules['pyarrow'] = None;"


def ran(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )


def test_without_arrow_the_extra_is_named() -> None:
    finished = ran(WITHOUT_ARROW + "import riverlog.columnar")

    assert "ImportError: riverlog.columnar needs Arrow: pip install 'riverlog[arrow]'" in finished.stderr


def test_without_arrow_export_says_what_to_install_and_all_else_works() -> None:
    program = "from riverlog.cli import main; sys.exit(main(['export', 'orders', '-o', 'orders.parquet']))"
    finished = ran(WITHOUT_ARROW + program)

    assert finished.returncode == 1
    assert finished.stderr.startswith(
        "riverlog: riverlog.columnar needs Arrow: pip install 'riverlog[arrow]'"
    )


def test_without_numba_a_warning_says_that_it_is_slower() -> None:
    finished = ran("import sys; sys.modules['numba'] = None; from riverlog.columnar import read")

    assert finished.returncode == 0
    assert "numba is not here" in finished.stderr


def test_what_the_room_offers_can_be_imported() -> None:
    finished = ran("import riverlog.columnar as room; [getattr(room, name) for name in room.__all__]")

    assert finished.returncode == 0, finished.stderr
