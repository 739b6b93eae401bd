"""Which values are one JSON object from their first byte to their last, as far as braces tell. Pure.

    {"a": "}"}   {"a": {}}      one object each
    {}{}   {}, "b": {}   {"a": 1   null   ""       none

It is what makes it safe to parse many values in one go: text in which every value opens with a brace that its
last one closes has as many objects as values, whatever else is in them, or is no JSON. Arrow's parser has to
be told so, since it takes objects that follow each other for rows, and dies of a null between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from riverlog.columnar.compiling import kernel, readable, writable

_QUOTE, _BACKSLASH, _OPEN, _CLOSE = b'"\\{}'


def are_objects(values: pa.Array) -> NDArray[np.bool_]:
    """Say of each value of a binary array whether it is one object; null is none."""
    rows = len(values)
    _, ends, content = values.buffers()
    if not rows or content is None:
        return np.zeros(rows, np.bool_)
    bounds = np.frombuffer(ends, np.int32)[values.offset : values.offset + rows + 1]
    data = np.frombuffer(content, np.uint8)
    if values.null_count == 0 and _are_flat(data, bounds):
        return np.ones(rows, np.bool_)
    found = np.zeros(rows, np.uint8)
    find_objects(readable(content), readable(bounds), writable(found))
    is_object = found.view(np.bool_)
    return is_object & values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else is_object


def _are_flat(data: NDArray[np.uint8], bounds: NDArray[np.int32]) -> bool:
    """Say whether each value has two braces only, around all of it: no need then to look at every byte."""
    rows = len(bounds) - 1
    within = data[bounds[0] : bounds[-1]]
    if len(within) == 0 or np.any(bounds[1:] == bounds[:-1]):
        return False
    return (
        bool(np.all(data[bounds[:-1]] == _OPEN))
        and bool(np.all(data[bounds[1:] - 1] == _CLOSE))
        and int(np.count_nonzero(within == _OPEN)) == rows
        and int(np.count_nonzero(within == _CLOSE)) == rows
    )


@kernel
def find_objects(data: Any, bounds: Any, found: Any) -> None:
    """Set `found` to 1 for each value, from one bound to the next, that is one object."""
    for row in range(len(bounds) - 1):
        position, end = bounds[row], bounds[row + 1]
        while position < end and (data[position] == 32 or 9 <= data[position] <= 10 or data[position] == 13):
            position += 1
        if position == end or data[position] != _OPEN:
            continue
        depth = 0
        is_text = False
        while position < end:
            byte = data[position]
            position += 1
            if is_text:
                if byte == _BACKSLASH:
                    position += 1
                elif byte == _QUOTE:
                    is_text = False
            elif byte == _QUOTE:
                is_text = True
            elif byte == _OPEN:
                depth += 1
            elif byte == _CLOSE:
                depth -= 1
                if depth == 0:
                    break
        if depth > 0:
            continue
        while position < end and (data[position] == 32 or 9 <= data[position] <= 10 or data[position] == 13):
            position += 1
        if position == end:
            found[row] = 1
