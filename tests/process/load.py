"""Producers, a consumer and an administrator that work until the broker dies under them.

Each is a thread. A connection that breaks ends it in silence, since that is the point; anything else that
goes wrong is kept in `failure` and raised by `finish`.

    PlainWriter        what was in flight at the crash is never sent again: its fate is open
    IdempotentWriter   sends it again after the restart, in the same order: exactly once
    Reader             follows all partitions and tells the ledger what it was given
    Churner            creates and deletes topics; knows for certain only what was answered
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from riverlog.protocol import messages
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch
from tests.process.ledger import PartitionLedger, Run, key_of, value_of
from tests.process.raw_client import INIT_PRODUCER_ID, RawClient

BATCH_BYTES_MAX = 200_000
REQUESTS_IN_FLIGHT_MAX = 5
"""What an idempotent producer may have under way: the broker remembers five batches."""


class Batch(NamedTuple):
    """A batch that was built and may be sent more than once."""

    ledger: PartitionLedger
    run: Run
    data: bytes


class Worker:
    """Work on one connection, in a thread, until it breaks or `finish` is called."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.failure: BaseException | None = None
        self.is_told_to_stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, bootstrap: str) -> None:
        self.is_told_to_stop.clear()
        self._thread = threading.Thread(target=self._run, args=(bootstrap,), name=self.name, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Wait until it has ended; raise what went wrong."""
        self.is_told_to_stop.set()
        assert self._thread is not None
        self._thread.join(60)
        assert not self._thread.is_alive(), f"{self.name} hangs"
        if self.failure is not None:
            raise AssertionError(f"{self.name}: {self.failure!r}") from self.failure

    def _run(self, bootstrap: str) -> None:
        try:
            with RawClient(bootstrap) as client:
                self.work(client)
        except ConnectionError:
            pass  # the crash
        except BaseException as error:
            self.failure = error

    def work(self, client: RawClient) -> None:
        raise AssertionError("a worker says what it does")


class PlainWriter(Worker):
    """Produces with acks=all and no producer id, many requests in flight."""

    producer_id, producer_epoch = -1, -1
    retries = False

    def __init__(self, name: str, ledgers: Sequence[PartitionLedger], seed: int, in_flight_max: int) -> None:
        super().__init__(name)
        self._ledgers = ledgers
        self._random = random.Random(seed)
        self._in_flight_max = in_flight_max
        self._next = {id(ledger): 0 for ledger in ledgers}
        self._in_flight: deque[list[Batch]] = deque()

    def work(self, client: RawClient) -> None:
        self._in_flight.clear()
        self._produce(client)

    def _produce(self, client: RawClient) -> None:
        while not self.is_told_to_stop.is_set():
            if len(self._in_flight) < self._in_flight_max:
                self._send(client, self._build_request())
            else:
                self._receive(client)
        while self._in_flight:
            self._receive(client)

    def _build_request(self) -> list[Batch]:
        count = min(self._random.choice((1, 1, 2, 3)), len(self._ledgers))
        return [self._build(ledger) for ledger in self._random.sample(list(self._ledgers), count)]

    def _build(self, ledger: PartitionLedger) -> Batch:
        pick = self._random.choice
        size = pick((0, 10, 100, 100, 1000, 20_000))
        count = min(pick((1, 1, 5, 50, 200)), max(1, BATCH_BYTES_MAX // (size + 30)))
        first = self._next[id(ledger)]
        self._next[id(ledger)] = first + count
        now_ms = int(time.time() * 1000)
        records = [
            Record(0, now_ms, key_of(self.name, number, size), value_of(number, size))
            for number in range(first, first + count)
        ]
        data = build_batch(
            records,
            compression=pick(list(Compression)),
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=first if self.producer_id >= 0 else -1,
        )
        ledger.note_sent(self.name, first + count, retries=self.retries)
        return Batch(ledger, Run(-1, self.name, first, count), bytes(data))

    def _send(self, client: RawClient, request: list[Batch]) -> None:
        self._in_flight.append(request)
        self._transmit(client, request)

    def _transmit(self, client: RawClient, request: list[Batch]) -> None:
        client.send_batches([(one.ledger.topic, one.ledger.partition, one.data) for one in request])

    def _receive(self, client: RawClient) -> None:
        replies = client.receive_produced()
        for one in self._in_flight.popleft():
            reply = replies[one.ledger.topic, one.ledger.partition]
            assert not reply.error_code, (
                f"{one.ledger}: {one.run} was refused with {reply.error_code}: {reply.error_message}"
            )
            one.ledger.note_acknowledged(one.run._replace(base_offset=reply.base_offset))


class IdempotentWriter(PlainWriter):
    """Produces with a producer id; what a crash leaves unanswered is sent again after it."""

    retries = True

    def __init__(self, name: str, ledgers: Sequence[PartitionLedger], seed: int) -> None:
        super().__init__(name, ledgers, seed, REQUESTS_IN_FLIGHT_MAX)

    def work(self, client: RawClient) -> None:
        if self.producer_id < 0:
            granted = client.call(INIT_PRODUCER_ID, 4, messages.InitProducerIdRequest(transactional_id=None))
            assert not granted.error_code, granted
            self.producer_id, self.producer_epoch = granted.producer_id, granted.producer_epoch
        for request in self._in_flight:
            self._transmit(client, request)
        while self._in_flight:
            self._receive(client)
        self._produce(client)


class Reader(Worker):
    """Consumes all partitions from where it is, waiting for more."""

    def __init__(self, name: str, ledgers: Sequence[PartitionLedger]) -> None:
        super().__init__(name)
        self._ledgers = {(ledger.topic, ledger.partition): ledger for ledger in ledgers}

    def work(self, client: RawClient) -> None:
        positions = {key: client.offset(*key) for key in self._ledgers}
        while not self.is_told_to_stop.is_set():
            client.send_fetch(positions, max_wait_ms=50)
            for key, partition in client.receive_fetched().items():
                assert not partition.error_code, f"{key}: error {partition.error_code}"
                if partition.records:
                    end = self._ledgers[key].note_seen(partition.records)
                    assert positions[key] < end <= partition.high_watermark, (key, positions[key], end)
                    positions[key] = end


class Churner(Worker):
    """Creates topics, writes one record into each, deletes some of them."""

    def __init__(self, name: str, seed: int, make_batch: Callable[[], bytes]) -> None:
        super().__init__(name)
        self._random = random.Random(seed)
        self._make_batch = make_batch
        self._count = 0
        self.certain: dict[str, tuple[bytes, bool]] = {}
        """Topics that must be there: id, and whether its record was acknowledged."""
        self.gone: set[str] = set()
        """Topics that must not be there."""

    def work(self, client: RawClient) -> None:
        while not self.is_told_to_stop.is_set():
            if len(self.certain) > 5 or (self.certain and self._random.random() < 0.4):
                name = self._random.choice(list(self.certain))
                del self.certain[name]  # from here on its fate is open, until the answer comes
                client.delete_topic(name)
                self.gone.add(name)
            else:
                name = f"{self.name}-{self._count}"
                self._count += 1
                topic_id = client.create_topic(name, self._random.choice((1, 3)))
                self.certain[name] = topic_id, False
                assert client.produce(name, 0, self._make_batch()) == 0
                self.certain[name] = topic_id, True

    def check(self, client: RawClient) -> None:
        """Hold the broker's topics against what it had answered; see that they can be used."""
        topics = client.topics()
        assert not self.gone & topics.keys(), f"deleted and back: {self.gone & topics.keys()}"
        for name, (topic_id, has_record) in self.certain.items():
            assert topics.get(name) == topic_id, f"{name} was created and is gone, or another"
            end = client.offset(name, 0)
            assert end == 1 or (end == 0 and not has_record), f"{name} ends at {end}"
            assert client.produce(name, 0, self._make_batch()) == end
            if end == 0:
                self.certain[name] = topic_id, True
            else:
                client.delete_topic(name)
                self.gone.add(name)
        self.certain = {name: fate for name, fate in self.certain.items() if name not in self.gone}
