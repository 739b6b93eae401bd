"""Parquet files, with a manifest for each batch that says which of them count.

    clicks.writeStream.foreachBatch(ParquetSink("/data/clicks")).start()
    duckdb.read_parquet(committed_files("/data/clicks"))

    /data/clicks/
      files/000012-5f3c…/part-00000-….parquet     written by tasks, in a directory that is this attempt's own
      batches/SINK/000012.json                    the files of the batch; linked into place, once

Who links the manifest first has written the batch; an attempt that comes second finds it there and removes
its own files. So a batch is visible whole or not at all, and no zombie can touch the files of another. What
a crash leaves lies in a directory that no manifest names.

Driver and executors share the directory. Spark's own file sink keeps such a list too, which only Spark reads.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from riverlog.errors import StorageError
from riverlog.pipelines.sinks.foreach import BatchSink, compute

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FILES, BATCHES = "files", "batches"


class ParquetSink(BatchSink):
    """Writes each batch into files of its own, and then a manifest that makes them count.

    `name` tells sinks of one query apart that write to one directory.
    """

    def __init__(self, path: str | Path, *, name: str = "") -> None:
        self._path = Path(path).absolute()
        super().__init__(f"{self._path.name}-{name}" if name else self._path.name)

    def write(self, frame: DataFrame, sink: str, batch: int) -> None:
        """Write a batch, unless it is there."""
        manifest = self._path / BATCHES / sink / f"{batch:06d}.json"
        if manifest.exists():
            compute(frame)
            return
        own = self._path / FILES / f"{batch:06d}-{uuid.uuid4().hex}"
        frame.write.parquet(own.as_uri())
        files = sorted(str(file.relative_to(self._path)) for file in own.glob("*.parquet"))
        if not self._publish(manifest, files):
            shutil.rmtree(own, ignore_errors=True)

    def _publish(self, manifest: Path, files: Sequence[str]) -> bool:
        """Let the files count, all at once; say whether this attempt was the first."""
        manifest.parent.mkdir(parents=True, exist_ok=True)
        aside = manifest.with_suffix(f".{uuid.uuid4().hex}")
        with aside.open("w") as stream:
            json.dump({"files": files}, stream)
            stream.flush()
            os.fsync(stream.fileno())
        try:
            os.link(aside, manifest)
        except FileExistsError:
            return False
        finally:
            aside.unlink()
        return True


def committed_files(path: str | Path) -> list[str]:
    """Give the files of all batches that are in, in their order: what DuckDB, Polars and Spark are to read.

    Raises StorageError for a manifest that cannot be read.
    """
    found: list[str] = []
    for manifest in sorted((Path(path) / BATCHES).glob("*/*.json")):
        try:
            names = json.loads(manifest.read_text())["files"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StorageError(f"a manifest cannot be read: {error}", path=str(manifest)) from error
        found.extend(str(Path(path) / name) for name in names)
    return found
