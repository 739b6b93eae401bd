"""Jobs: pipelines as programs that are started, watched, stopped and brought to a new version.

    app.py             what a user writes: `App`, `@app.query(...)`
      loading.py         the app that a file defines
      context.py         what a query's function is given
      writing.py         from what it gave to records of a topic
    plan.py            Spark's plan of a query, as plain nodes
      contract.py        what a checkpoint rests on, made of those; pure
      comparison.py      what a change of code means for a checkpoint; pure
    state_directory.py  where checkpoints lie, and who uses them
      checkpoint.py      how far a query has come, from Spark's files
      limits.py          how far it may read; pure. limited_source.py is Spark's side
    preparing.py       from a file to queries that can be started
    real_time.py       what may run in real time, and why another may not; pure
    running.py         one query that runs, and stops at the end of a batch
    app_run.py         an app that runs
      choosing.py        which version runs; pure
      measuring.py       batches as numbers for people; pure
    board.py           the topic `riverlog-pipelines`
      records.py         what it says; pure
      pointers.py        which version of an output readers follow; pure
    replaying.py       a new version beside the old
      outputs.py         the outputs of two versions compared; pure
    switching.py       readers brought to another version, and versions retired
    following.py       a reader that goes along

    code ──▶ plan ──▶ contract ──┬─▶ verdict ──▶ run, or replay and switch
    checkpoint ──▶ contract ─────┘

Rules: what would be decided is pure and tested without Spark; a checkpoint is used by one process; readers
are never shown a gap or a result twice when a version takes over from another.
"""
