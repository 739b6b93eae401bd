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
"""

from __future__ import annotations

from importlib import import_module

try:
    for needed in ("numpy", "pyarrow"):
        import_module(needed)
except ImportError as error:
    raise ImportError(f"riverlog.columnar needs Arrow: pip install 'riverlog[arrow]' ({error})") from error

from riverlog.columnar.batches import BadBatch
from riverlog.columnar.fetching.cluster import Cluster, ClusterUnavailable
from riverlog.columnar.options import RecordsLost
from riverlog.columnar.reading import Position, Positions, Source, Split, read
from riverlog.columnar.schema import COLUMNS, schema
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
