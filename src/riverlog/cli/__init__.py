"""The cli room: the command `riverlog`. One file per command, each with `add_to(commands)` and its `run`.

    up.py                          start a broker
    topics.py  offsets.py          what a cluster holds
    groups.py                      who reads it, how far they have come, and moving them
    produce.py consume.py          records in, records out
    export.py                      records into a file that is a table
    txn.py                         transactions: list, describe, abort
    config.py                      settings: of a broker to be, and of a running cluster
    log.py                         look into segment files without a broker
    version.py

    command_line.py                the parser of all of them, exit codes, what a person reads when it fails
    arguments.py                   options that several commands share
    spans.py                       positions as offsets of each partition
    lines.py record_json.py template.py    a record as text: typed lines, JSON objects, format strings
    table.py progress.py           output
    plain_cluster.py               requests that librdkafka cannot send
    reference.py                   the page docs/reference/commands.md, made from the parsers

Rules: results go to stdout, everything said about them to stderr. `--json` prints one object per line.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage or setting, 130 Ctrl-C, 141 nobody reads the output
any more. A command imports what it needs when it runs, so that `riverlog --help` does not load a client.
"""

from riverlog.cli.command_line import main

__all__ = ["main"]
