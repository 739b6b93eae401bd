"""Topics as frames: `spark.readStream.format("riverlog")`, in Python alone, from any Kafka cluster.

    data_source.py   the format, as Spark finds it by its name
    options.py       what a query says of what to read, pure
      anchors.py     where reading begins and ends, pure
    readers.py       what Spark asks of a batch and of a stream
      watching.py    asks the cluster for partitions and their offsets
      offsets.py     decides which offsets a batch reads, pure
      splitting.py   ranges of offsets to tasks, pure
      group_offsets.py   how far a query has come, for tools that look at consumer groups
      progress.py    the lag of a query, from its progress, pure
      loss.py        offsets that are gone: an error, or a warning
    reading.py       a task: record batches to Arrow
      rows.py        the columns in Spark

    driver   watching ──▶ offsets ──▶ splitting ──▶ tasks          (one process for each query, kept)
    workers  task ──▶ riverlog.columnar: fetch or files, decode by the column ──▶ Arrow ──▶ Spark

Promises
- What a batch of a stream reads goes by its two offsets and the options alone: repeated, it is the same.
- Records of open and aborted transactions are not read, unless `isolation` says so.
- An offset that is gone ends the query with its name, unless `failOnDataLoss` is false.
"""
