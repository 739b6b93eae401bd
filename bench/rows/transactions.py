"""Transactional producers that commit small transactions: how many a second, how long a commit takes.

Each producer is a raw connection that goes on as soon as it is answered; one thread drives them all. A
transaction is one request with a 100-byte record for each of three partitions, acks=all, and its commit; in
the older flow of the protocol, which librdkafka speaks, the partitions are named in a request of their own
before. The next transaction begins when the commit is answered. A broker may then still be writing the
markers of the last one and say so, and the producer asks again after the pause that clients make.

Committed is what the log says: each transaction leaves a record and a marker in each partition, and in the
end nothing is undecided.
"""

import heapq
import time
from typing import NamedTuple

from bench import wire, wire_groups, wire_transactions
from bench.broker import Broker
from bench.connection import TIMEOUT_SECONDS, Client
from bench.crowd import Crowd, gather
from bench.errors import Refused, Unanswered, check_count
from bench.isolation import in_own_process
from bench.process import Meter, Usage, memory
from bench.row import Figure, Row, Sample, System, at_least, at_most
from bench.rows.latency import percentile
from bench.wire_transactions import CONCURRENT_TRANSACTIONS, Identity

TOPIC = "transactions"
PARTITIONS = 3
PRODUCERS = 16
VALUE = b"x" * 100
SECONDS = 4.0
RETRY_SECONDS = 0.02
SETTLE_SECONDS_MAX = 10.0


class Flow(NamedTuple):
    """Which requests make a transaction."""

    name: str
    names_partitions: bool
    produce_version: int
    end_version: int


NEWER = Flow("newer", False, wire_transactions.NEWER_PRODUCE, wire_transactions.NEWER_END_TXN)
OLDER = Flow("older", True, wire_transactions.OLDER_PRODUCE, wire_transactions.OLDER_END_TXN)


class Section(NamedTuple):
    """A measured section: how long each commit took, and how often a producer had to ask again."""

    commits: list[float]
    retries: int
    usage: Usage


class Producer:
    """One transactional producer, somewhere in the circle of name, produce, end."""

    def __init__(self, transactional_id: str, flow: Flow, identity: Identity) -> None:
        self._transactional_id = transactional_id
        self._flow = flow
        self._identity = identity
        self._sequence = 0
        self._record = [wire.record(0, VALUE)]
        self.step = self._name if flow.names_partitions else self._produce
        self.asked_at = 0.0

    def _name(self) -> bytes:
        return wire_transactions.add_partitions_request(
            self._transactional_id, self._identity, TOPIC, range(PARTITIONS)
        )

    def _produce(self) -> bytes:
        state = wire.ProducerState(*self._identity, self._sequence)
        batch = wire.batch_of_records(self._record, int(time.time() * 1000), state)
        return wire_transactions.produce_request(
            self._flow.produce_version, self._transactional_id, TOPIC, [batch] * PARTITIONS
        )

    def _end(self) -> bytes:
        return wire_transactions.end_request(self._flow.end_version, self._transactional_id, self._identity)

    def take(self, frame: bytes) -> bool:
        """Take the answer to the last step and go on to the next, or stay where the broker is not ready.

        Returns whether it has gone on.
        """
        if self.step == self._name:
            errors, following = wire_transactions.read_added(frame), self._produce
        elif self.step == self._produce:
            errors, following = wire_transactions.read_produce_errors(frame), self._end
        else:
            error, identity = wire_transactions.read_ended(self._flow.end_version, frame, self._identity)
            errors, following = [error], self._name if self._flow.names_partitions else self._produce
        if CONCURRENT_TRANSACTIONS in errors:
            return False
        if any(errors):
            raise Refused(f"{self.step.__name__[1:]} of a transaction answered errors {errors}")
        if self.step == self._end:
            # Sequences begin anew with each epoch.
            self._sequence = self._sequence + 1 if identity == self._identity else 0
            self._identity = identity
        self.step = following
        return True

    @property
    def is_between_transactions(self) -> bool:
        """Whether the last transaction is committed and the next has not begun."""
        return self.step == (self._name if self._flow.names_partitions else self._produce)


def introduce(client: Client, transactional_id: str) -> Identity:
    """Get a producer's identity; its coordinator may still be opening its topic, or ending what was left."""
    client.wait_for_coordinator(transactional_id, wire_groups.TRANSACTION_KEY)
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    while True:
        frame = client.call(wire_transactions.init_producer_id_request(transactional_id))
        error, identity = wire_transactions.read_identity(frame)
        if error == wire.NO_ERROR:
            return identity
        if error not in {*wire_groups.NOT_YET, CONCURRENT_TRANSACTIONS} or time.monotonic() > deadline:
            raise Refused(f"InitProducerId answered error {error}")
        time.sleep(RETRY_SECONDS)


def drive(crowd: Crowd, producers: list[Producer], seconds: float) -> tuple[list[float], int]:
    """Have all producers commit one transaction after the other until the time is up.

    Returns how long each commit took, and how often one had to ask again.
    """
    commits: list[float] = []
    retries = 0
    pauses: list[tuple[float, int]] = []
    started = time.monotonic()
    deadline = started + seconds
    for member, producer in enumerate(producers):
        producer.asked_at = started
        crowd.send(member, producer.step())
    active = len(producers)
    while active:
        now = time.monotonic()
        if now > deadline + TIMEOUT_SECONDS:
            raise Unanswered(f"{active} transactions have no end")
        while pauses and pauses[0][0] <= now:
            _, member = heapq.heappop(pauses)
            crowd.send(member, producers[member].step())
        pause = pauses[0][0] - now if pauses else 1.0
        for member, frame in crowd.answers(max(0.0, pause)):
            producer = producers[member]
            now = time.monotonic()
            if not producer.take(frame):
                retries += 1
                heapq.heappush(pauses, (now + RETRY_SECONDS, member))
                continue
            if producer.is_between_transactions:
                commits.append(now - producer.asked_at)
                if now > deadline:
                    active -= 1
                    continue
            producer.asked_at = now
            crowd.send(member, producer.step())
    return commits, retries


def transact(port: int, pid: int, flow: Flow, seconds: float) -> Section:
    """Load: transactions for so many seconds."""
    with Client(port) as client:
        producers = []
        for index in range(PRODUCERS):
            transactional_id = f"{TOPIC}-{flow.name}-{index:02}"
            producers.append(Producer(transactional_id, flow, introduce(client, transactional_id)))
    with gather(port, PRODUCERS) as crowd, Meter(pid) as meter:
        commits, retries = drive(crowd, producers, seconds)
    return Section(commits, retries, meter.usage)


def wait_until_decided(client: Client) -> int:
    """Wait until no transaction is open; return the sum of the end offsets."""
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    while True:
        end_offset = client.end_offset(TOPIC, PARTITIONS)
        stable = client.end_offset(TOPIC, PARTITIONS, wire.READ_COMMITTED)
        if stable == end_offset:
            return end_offset
        if time.monotonic() > deadline:
            raise Refused(f"undecided records: stable up to {stable}, written up to {end_offset}")
        time.sleep(RETRY_SECONDS)


def measure(broker: Broker, scale: float) -> Sample:
    """Run each flow on a new topic."""
    sample: dict[str, float] = {}
    for flow in (NEWER, OLDER):
        with Client(broker.port) as client:
            client.require(
                wire_transactions.ADD_PARTITIONS_TO_TXN, wire_transactions.OLDER_END_TXN, "AddPartitionsToTxn"
            )
            client.require(wire_transactions.END_TXN, flow.end_version, "EndTxn")
            client.create_topics({TOPIC: PARTITIONS})
            section = in_own_process(transact, broker.port, broker.pid, flow, SECONDS * scale)
            count = len(section.commits)
            check_count(count * PARTITIONS * 2, wait_until_decided(client))
            client.delete_topic(TOPIC)
        sample |= {
            f"{flow.name}_rate": count / section.usage.seconds,
            f"{flow.name}_p50": percentile(section.commits, 0.50) * 1e3,
            f"{flow.name}_p99": percentile(section.commits, 0.99) * 1e3,
            f"{flow.name}_cpu": section.usage.broker_cpu / count * 1e6,
            f"{flow.name}_client_cpu": section.usage.client_cpu / count * 1e6,
            f"{flow.name}_retries": section.retries / count,
        }
    sample["memory"] = memory(broker.pid).now_mb
    return sample


TITLES = {NEWER: "newer flow", OLDER: "older flow"}

ROW = Row(
    name="transactions",
    title=f"{PRODUCERS} producers, transactions of one record in each of 3 partitions",
    figures=(
        *(
            figure
            for flow, title in TITLES.items()
            for figure in (
                Figure(f"{flow.name}_rate", title, "per s", at_least(1.0), digits=0),
                Figure(f"{flow.name}_p50", f"{title}, commit p50", "ms", at_most(1.0)),
                Figure(f"{flow.name}_p99", f"{title}, commit p99", "ms", at_most(1.0)),
                Figure(
                    f"{flow.name}_cpu",
                    f"{title}, broker CPU",
                    "µs per transaction",
                    at_most(1.0),
                    digits=0,
                ),
                Figure(f"{flow.name}_client_cpu", f"{title}, client CPU", "µs per transaction", digits=0),
                Figure(f"{flow.name}_retries", f"{title}, asked again", "per transaction"),
            )
        ),
        Figure("memory", "memory after", "MB", at_most(1.0), digits=0),
    ),
    measure=measure,
    systems=(System.PEER, System.SUBJECT, System.SUBJECT_FSYNC),
)
