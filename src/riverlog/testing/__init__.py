"""A real broker inside your tests.

    import riverlog.testing

    with riverlog.testing.broker(num_partitions=3) as broker:
        ...                                    # any Kafka client, pointed at broker.bootstrap

    broker_process.py   the broker, a process of its own: up in a fraction of a second, gone with its block
    pipelines.py        streams to feed and pipelines to look at, on one Spark for the run
    plugin.py           pytest's fixtures `riverlog_broker`, `riverlog_topic`, `riverlog_new_topic`,
                        `riverlog_spark`, `riverlog_streams`

Promises: every broker has a free port and empty data of its own; nothing of the surroundings (variables,
files) changes it; it ends with the test program, however that ends. Nothing in `src` imports this room.
Why a process and not a thread: docs/decisions/0005-a-broker-in-tests-is-a-process.md
"""

from riverlog.testing.broker_process import BrokerProcess, broker

__all__ = ["broker", "BrokerProcess"]
