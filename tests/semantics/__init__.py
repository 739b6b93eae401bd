"""The broker as the wire shows it: a claim or more for each row of the list of Kafka's observable behaviour.

The tests speak through raw sockets, with requests built field by field, and look at nothing but replies.
They hold for any broker: with RIVERLOG_TEST_BOOTSTRAP=HOST:PORT they run against that one, started with the
settings that conftest.py names. RIVERLOG_TEST_RESTART is then the command that ends that broker and brings it
up again on the same data; without it the tests of leader epochs stand down. All pass on Apache Kafka 4.3.1.
Where riverlog differs for a reason, a test asks for what both do, or takes either answer and says why.

A test's docstring begins with the rows it covers; test_coverage.py compares them with the list. The rows:

    negotiation   1 versions  2 unknown ApiVersions version  3 software names  4 header of ApiVersions
                  5 tagged fields  6 features  7 order  8 acks=0
    produce       9 acks  10 min.insync.replicas  11-15 idempotence  16-18 batches  19 null keys
                  20 size  21, 22 codecs of the topic  23 zstd  24-26 timestamps  27 old formats
    fetch         29 inside a batch  30 range  31 large batches  32 waiting  33 fields  34 sessions
                  35 topic ids  36 leader epochs  39 diverging epochs
    offsets       37 ends of epochs  42 by time  44 special times  45 epochs  46 deleted records  47 retention
    admin         77 settings  78 topics, partitions  79 creation by Metadata  80 illegal names, numbers

Left out:

    28, 38, 40, 41  several brokers: leaders that change, followers that lag; so do parts of 10 (what holds
                    for one broker is here) and of 30 (a high watermark behind the end)
    43              transactions: without them the last stable offset is the high watermark
    14, 34, 44      in part: the expiry of producers and the eviction of sessions take minutes of the broker's
                    clock (their unit tests have one of their own), and nothing is in tiered storage
    48-76, 81-88    compaction, transactions, groups, security, the cluster: not this package's
"""
