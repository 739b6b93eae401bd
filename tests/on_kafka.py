"""`python -m tests.on_kafka [PYTEST ARGUMENTS]`: the same tests against Apache Kafka instead of riverlog.

What is a client of the log must work against an existing Kafka cluster as well. This starts one broker of
Apache Kafka, as `bench` does, names it in RIVERLOG_TEST_BOOTSTRAP and runs pytest. Without arguments: the
tests of the rooms that are clients.
"""

from __future__ import annotations

import os
import subprocess
import sys

from bench.errors import BenchError
from bench.peer import KafkaBroker

CLIENTS_OF_THE_LOG = ["-m", "not slow", "tests/pipelines", "tests/clients/test_columnar.py"]

SETTINGS = {
    "num.partitions": "3",
    # nobody waits for members that do not come
    "group.initial.rebalance.delay.ms": "0",
    # nor long for topics that are made when they are first needed
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


def main(arguments: list[str]) -> int:
    """Run pytest beside a broker of Apache Kafka; give its exit code, or 2 where there can be no broker."""
    try:
        with KafkaBroker(SETTINGS) as broker:
            broker.prepare()
            broker.start()
            address = f"127.0.0.1:{broker.port}"
            print(f"{broker.name} listens on {address}", flush=True)
            return subprocess.run(
                [sys.executable, "-m", "pytest", *(arguments or CLIENTS_OF_THE_LOG)],
                env={**os.environ, "RIVERLOG_TEST_BOOTSTRAP": address},
                check=False,
            ).returncode
    except BenchError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
