"""Other projects' test suites, run against a live broker and compared with what passed before.

    python -m tests.suites                   every suite, each against a riverlog of its own
    python -m tests.suites rskafka           only this one
    python -m tests.suites --accept          add what newly passes to the lists
    python -m tests.suites --bootstrap A     against the broker at A, for comparison; lists are left alone

`passing/SUITE.txt` names the tests that pass. The lists only grow: a test in a list that fails is a
failure here, one that passes and is not in a list is reported, so that it can be added.

Each suite comes by name from its package registry, into a cache outside the repository.
"""
