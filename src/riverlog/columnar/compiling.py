"""The one place that knows numba: loops over bytes become machine code where it installs, and run as they are
elsewhere.

A kernel is a function in the part of Python that numba compiles. It means the same in both ways of running,
so there is no second implementation; without numba it takes more than ten times as long. What the two ways
want to be handed differs: `readable` and `writable` see to that.

Compiled code is kept on disk by numba (beside the module or in the user's cache directory), so the compiler
runs once for each installation, not for each process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

numba: Any
try:
    import numba
except ImportError:
    numba = None

logger = logging.getLogger("riverlog.columnar")

IS_COMPILED: bool = numba is not None and not numba.config.DISABLE_JIT

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a function when it is first called, if numba is there. It runs without Python's lock."""
    if not IS_COMPILED:
        return function
    try:
        compiled: _Function = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # nowhere to keep compiled code: then each process compiles for itself
        compiled = numba.njit(nogil=True)(function)
    return compiled


def readable(source: Any) -> Any:
    """Give a buffer or an array of numbers to a kernel that reads it."""
    if not IS_COMPILED:
        return source.tolist() if isinstance(source, np.ndarray) else memoryview(source).cast("B")
    view = source.view() if isinstance(source, np.ndarray) else np.frombuffer(source, np.uint8)
    view.flags.writeable = False  # one type for all sources, so that nothing is compiled twice
    return view


def writable(array: NDArray[Any]) -> Any:
    """Give an array to a kernel that fills it."""
    return array if IS_COMPILED else array.data


if not IS_COMPILED:
    logger.warning("numba is not here: records are decoded without it, which is many times slower")
