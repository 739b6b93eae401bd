"""A program that copies a topic, each record once: read, write and commit the offsets, in one transaction.

    python -m tests.process.copier BOOTSTRAP SOURCE SINK GROUP TRANSACTIONAL_ID SEED

It goes on until it is killed. Records keep their partition and their order. Now and then it aborts a
transaction for no reason and does its work again. Several copiers share the partitions of one group: a
copier that has lost its partitions without knowing is refused by the group's generation (KIP-447).

What it cannot go on after ends it with exit code 1; whoever started it starts it again.
"""

from __future__ import annotations

import random
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.committed_reader import PATIENT

RECORDS_MAX = 20
ABORT_CHANCE = 0.15
CALL_SECONDS = 10.0
SESSION_MS = 1_500
TRANSACTION_MS = 2_500


class Copier:
    """One member of the group that copies."""

    def __init__(self, bootstrap: str, source: str, sink: str, group: str, name: str, seed: int) -> None:
        shared = {"bootstrap.servers": bootstrap, **PATIENT}
        self._sink = sink
        self._chance = random.Random(seed)
        self._batch: list[Message] = []
        self._consumer = Consumer(
            {
                **shared,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 300,
                # a seek waits for the fetch that is under way
                "fetch.wait.max.ms": 50,
            }
        )
        self._producer = Producer(
            {**shared, "transactional.id": name, "transaction.timeout.ms": TRANSACTION_MS, "linger.ms": 1}
        )
        # Taken when partitions are given: a member that was expelled forgets who it was, and would then
        # commit as somebody whom the group does not check.
        self._membership: object = None
        self._consumer.subscribe([source], on_assign=self._assigned, on_revoke=self._revoked)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._membership = consumer.consumer_group_metadata()

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """What was read and not yet copied is somebody else's now."""
        self._batch.clear()

    def run(self) -> None:
        """Copy for ever. Raises KafkaException where only a new start helps."""
        self._producer.init_transactions(CALL_SECONDS)
        while True:
            self._read()
            if not self._batch:
                continue
            try:
                self._copy()
            except KafkaException as refused:
                error = refused.args[0]
                if error.fatal() or not error.txn_requires_abort():
                    raise
                self._abort()

    def _read(self) -> None:
        self._batch.clear()
        count = self._chance.randint(1, RECORDS_MAX)
        while len(self._batch) < count:
            message = self._consumer.poll(0.02 if self._batch else 0.5)
            if message is None:
                return
            error = message.error()
            if error is None:
                self._batch.append(message)
            elif error.fatal():
                raise KafkaException(error)

    def _copy(self) -> None:
        producer = self._producer
        producer.begin_transaction()
        ends: dict[tuple[str, int], int] = {}
        for message in self._batch:
            producer.produce(self._sink, message.value(), message.key(), message.partition())
            ends[message.topic(), message.partition()] = message.offset() + 1
        offsets = [TopicPartition(*place, offset) for place, offset in ends.items()]
        self._until_done(producer.send_offsets_to_transaction, offsets, self._membership, CALL_SECONDS)
        if self._chance.random() < ABORT_CHANCE:
            self._abort()
        else:
            self._until_done(producer.commit_transaction, CALL_SECONDS)

    def _abort(self) -> None:
        """Give up the transaction, and read again from where the last one ended."""
        self._until_done(self._producer.abort_transaction, CALL_SECONDS)
        for place in self._consumer.committed(self._consumer.assignment(), CALL_SECONDS):
            if place.error is not None:
                raise KafkaException(place.error)
            self._consumer.seek(TopicPartition(place.topic, place.partition, max(place.offset, 0)))

    @staticmethod
    def _until_done(call: object, *arguments: object) -> None:
        """Call again as long as the client says that this may help."""
        assert callable(call)
        while True:
            try:
                call(*arguments)
                return
            except KafkaException as refused:
                if not refused.args[0].retriable():
                    raise


def main() -> int:
    """Copy until something ends it."""
    bootstrap, source, sink, group, name, seed = sys.argv[1:]
    try:
        Copier(bootstrap, source, sink, group, name, int(seed)).run()
    except KafkaException as refused:
        error = refused.args[0]
        assert isinstance(error, KafkaError)
        print(f"{name}: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
