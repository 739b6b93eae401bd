"""The rows, one file each."""

from bench.pipelines.contest import Contest
from bench.pipelines.rows import latency, nexmark, read, windowed_count

ROWS: tuple[Contest, ...] = (read.CONTEST, windowed_count.CONTEST, latency.CONTEST, nexmark.CONTEST)
