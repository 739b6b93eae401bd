"""Kernels run compiled where numba is, and nothing else of the project asks for it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np

from riverlog.columnar.compiling import kernel, readable, writable


def total(data, result):  # type: ignore[no-untyped-def]  # a kernel in the making
    for number in data:
        result[0] += number


def test_a_kernel_reads_buffers_and_fills_arrays() -> None:
    result = np.zeros(1, np.int64)

    kernel(total)(readable(b"\x01\x02\xff"), writable(result))

    assert result[0] == 258


def test_a_source_is_not_changed_by_being_read() -> None:
    array = np.zeros(3, np.int64)

    readable(array)

    assert array.flags.writeable


def test_importing_the_project_loads_neither_arrow_nor_numba() -> None:
    program = (
        "import sys, riverlog, riverlog.client, riverlog.cli, riverlog.broker, riverlog.testing;"
        "print(sorted({'pyarrow', 'numba'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


def test_where_nothing_compiled_can_be_kept_a_kernel_runs_all_the_same() -> None:
    made_up: dict[str, Any] = {}
    exec(
        "def second(data):\n    return data[1]\n", made_up
    )  # a function without a file beside which to keep it

    assert kernel(made_up["second"])(readable(b"\x01\x02")) == 2
