"""The log as Arrow: record batches become columns, without a look at single records in Python.

     reading        topics of a cluster: plans splits, reads them       segments       a partition's directory
          |              nearby: are these a broker's own? ──────────────▶ |
     fetching       a broker's stored batches, over a socket            segment_files  files, in pieces
          |                                                                  |
          +---------------------------------+--------------------------------+
                                            v
     batches        whole? CRC right?  ──▶  isolation      for readers, or aborted?
          |
     arrays         blocks of many batches to one pyarrow.RecordBatch
          |
     kernels        the loops over bytes; compiled by numba where it is (`compiling`)
          |
     schema         which columns there are, and which are asked for

Promises
- The records are those that `riverlog.protocol.records` reads; any other bytes raise an error that names
  partition and offset, and are never read beyond.
- Memory is bounded by what is fetched or read at once and the records of one record batch, or by one batch
  that is larger: `reading.FETCH_BYTES`, `segment_files.CHUNK_BYTES`, `batches.RECORDS_BYTES_TARGET`.
- From `batches` on down nothing touches a file, a socket or a clock.
- Only this room loads pyarrow and numba: `pip install riverlog[arrow]`.

Names are imported on first use, since numba takes a while to load and planning does without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    for needed in ("numpy", "pyarrow"):
        import_module(needed)
except ImportError as error:
    raise ImportError(f"riverlog.columnar needs Arrow: pip install 'riverlog[arrow]' ({error})") from error

# Not on first use as the rest: a module of its name would be in the way.
from riverlog.columnar.schema import COLUMNS, schema

if TYPE_CHECKING:
    from riverlog.columnar.batches import BadBatch
    from riverlog.columnar.fetching.cluster import Cluster, ClusterUnavailable
    from riverlog.columnar.options import RecordsLost
    from riverlog.columnar.reading import Position, Positions, Source, Split, read
    from riverlog.columnar.segments import read_segments

__all__ = [
    "read",
    "read_segments",
    "Source",
    "Split",
    "Position",
    "Positions",
    "Cluster",
    "schema",
    "COLUMNS",
    "BadBatch",
    "ClusterUnavailable",
    "RecordsLost",
]

_HOMES = {
    "read": "reading",
    "read_segments": "segments",
    "Source": "reading",
    "Split": "reading",
    "Position": "reading",
    "Positions": "reading",
    "Cluster": "fetching.cluster",
    "BadBatch": "batches",
    "ClusterUnavailable": "fetching.cluster",
    "RecordsLost": "options",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
