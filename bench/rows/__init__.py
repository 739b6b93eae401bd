"""The rows of the budget table, one file each, in the table's order.

A new row: a file with loads (functions at the top level, so that a process of their own can run them), a
`measure` function and a `ROW`; and its name here.
"""

from bench.row import Row
from bench.rows import (
    columnar,
    compaction,
    consumer_group_join,
    crash_start,
    fetch_batches,
    group_commits,
    group_join,
    large_start,
    latency,
    many_partitions,
    one_client,
    produce_batches,
    small_requests,
    start,
    transactions,
)

ROWS: tuple[Row, ...] = (
    one_client.ROW,
    produce_batches.ROW,
    fetch_batches.ROW,
    small_requests.ROW,
    latency.ROW,
    many_partitions.ROW,
    start.ROW,
    large_start.ROW,
    crash_start.ROW,
    group_join.ROW,
    consumer_group_join.ROW,
    group_commits.ROW,
    transactions.ROW,
    compaction.ROW,
    columnar.ROW,
)
