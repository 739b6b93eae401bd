"""One task's transaction: who else has the task is fenced, and rows and marker go in together.

    init ── fences, and ends what a predecessor left open ──▶ marker? ──▶ BEGIN ─ rows ─ marker ─ COMMIT

Rows are held back, up to `HELD_BYTES_MAX`, before any of this begins: a transaction that is open holds up the
readers of its partitions, and what goes wrong most is the computation before the sink. The rows of most
tasks fit, and their transaction is open while they are sent and no longer.

Records go to the client library in bulk. A full queue refuses them one by one, and takes a later one where
an earlier was refused, which changes their order; so the queue is emptied before it could overflow.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from riverlog.client.admin import Admin
from riverlog.client.refusals import LastTrouble, TopicExists, UnknownTopic, error_text, refusal, refusal_of
from riverlog.errors import RiverlogError
from riverlog.pipelines.sinks.markers import (
    Marker,
    Place,
    Report,
    Standing,
    check_overtaken,
    check_same,
    marker_of,
    standing,
)
from riverlog.pipelines.sinks.options import TopicOptions
from riverlog.pipelines.sinks.rows import Message, messages, runs

if TYPE_CHECKING:
    import pyarrow as pa

HELD_BYTES_MAX = 32 << 20
"""What a task gathers before it opens its transaction."""
QUEUE_BYTES_MAX = 64 << 20
QUEUE_ROWS_MAX = 100_000
"""What waits in the client library at most; it would take more of both."""
PIECE_ROWS_MAX = 10_000
PATIENCE_SECONDS = 120.0
"""How long a task goes on asking a cluster that does not answer, as while a broker starts."""
CREATION_SECONDS_MAX = 1.0
ABORT_SECONDS_MAX = 5.0
PAUSE_SECONDS = 0.05

_log = logging.getLogger("riverlog.pipelines.sinks")
_librdkafka = logging.getLogger("riverlog.client.librdkafka")
_FENCED = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})
_UNKNOWN = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC})
_PASSING = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._WAIT_COORD,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    }
)
"""What a cluster answers, or leaves unanswered, while a broker comes back or an earlier transaction ends."""


class TaskFenced(RiverlogError):
    """Another attempt of the task has taken its place: ends this attempt, which has written nothing."""


class RowsRefused(RiverlogError):
    """The cluster does not take the rows of a task: ends the attempt, and nothing of it is visible."""


def write_task(options: TopicOptions, place: Place, batches: Iterable[pa.RecordBatch]) -> Report:
    """Write a task's rows once; where they are in already, take them in and write nothing.

    Every row is taken from `batches` in either case: what computes them stores its state behind the last one.
    A task without rows asks nobody anything.
    """
    held, rest = hold_back(batches, HELD_BYTES_MAX)
    if not held:
        return Report(place, 0)
    everything = chain(held, rest)
    with TaskTransaction(options, place) as transaction:
        marker = transaction.fence()
        found = standing(place, marker)
        if found is Standing.FREE:
            rows = transaction.send(everything)
            transaction.commit(rows)
            return Report(place, rows)
        assert marker is not None
        if found is Standing.OVERTAKEN and options.fails_on_change:
            check_overtaken(place, marker)
        rows = sum(batch.num_rows for batch in everything)
        if found is Standing.WRITTEN and options.fails_on_change:
            check_same(place, marker, rows)
        _log.info("%s: %d rows are there already", place, rows)
        return Report(place, rows, is_repetition=True)


def hold_back(
    batches: Iterable[pa.RecordBatch], bytes_max: int
) -> tuple[list[pa.RecordBatch], Iterator[pa.RecordBatch]]:
    """Take batches that have rows until they are more than `bytes_max`; give them, and what is left."""
    iterator = iter(batches)
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in iterator:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
            if size > bytes_max:
                break
    return held, iterator


class TaskTransaction:
    """The transactional id and the group of one task, for one attempt; ends with its `with` block."""

    def __init__(self, options: TopicOptions, place: Place) -> None:
        self._options = options
        self._place = place
        self._trouble = LastTrouble()
        self._failure: KafkaError | None = None
        self._is_open = False
        self._rows_waiting = self._bytes_waiting = 0
        self._partitions: dict[str, int] = {}
        shared = {
            "bootstrap.servers": options.bootstrap,
            "client.id": "riverlog-sink",
            "reconnect.backoff.max.ms": 1000,
            # The other strategy forgets the brokers once all are gone, and then waits for ever.
            "metadata.recovery.strategy": "none",
            "logger": _librdkafka,
            "error_cb": self._trouble.note,
        }
        user = dict(options.properties)
        self._producer = self._made(
            Producer,
            {
                **shared,
                # As Java's client does, so that rows of a key are together whoever wrote them.
                "partitioner": "murmur2_random",
                "linger.ms": 5,
                # How large a record may be is for the topic to say.
                "message.max.bytes": 1_000_000_000,
                **user,
                "queue.buffering.max.messages": 2 * QUEUE_ROWS_MAX,
                "queue.buffering.max.kbytes": 2_147_483_647,
                "transactional.id": place.name,
                "transaction.timeout.ms": options.transaction_ms,
                "message.timeout.ms": min(options.transaction_ms, int(PATIENCE_SECONDS * 1000)),
                "delivery.report.only.error": True,
                "on_delivery": self._delivered,
            },
        )
        connection = {name: value for name, value in user.items() if _is_connection(name)}
        self._group = self._made(
            Consumer,
            {
                **shared,
                **connection,
                "group.id": place.name,
                "enable.auto.commit": False,
                # A position that is part of a transaction which is just ending is waited for.
                "isolation.level": "read_committed",
            },
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._is_open:
            self._give_up()
        self._group.close()
        # The clients know our callbacks: without this they would live on until a collection of cycles.
        del self._producer, self._group

    def fence(self) -> Marker | None:
        """Shut out every other attempt of the task, and give what was written last."""
        self._until_done(self._producer.init_transactions, "fencing earlier attempts")
        topic = self._options.marker_topic
        if not self._exists(topic):
            self._create(topic)
        wanted = [TopicPartition(topic, 0)]
        [found] = self._until_done(
            lambda seconds: self._group.committed(wanted, seconds), "asking for its position"
        )
        if found.error is not None:
            raise refusal(found.error, f"{self._place}: asking for its position")
        return marker_of(found.offset, found.metadata)

    def send(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Begin, and send all rows; give their number. Nothing of it is visible yet."""
        options = self._options
        self._producer.begin_transaction()
        self._is_open = True
        rows = 0
        for piece in (piece for batch in batches for piece in _pieces(batch)):
            rows += piece.num_rows
            for topic, found in messages(piece, options.topic, has_headers=options.has_headers).items():
                self._check_places(topic, found)
                self._make_room(len(found), piece.nbytes)
                self._produce(topic, found)
        self._drain()
        return rows

    def commit(self, rows: int) -> None:
        """Make the rows visible, and the marker with them."""
        marker = Marker(self._place.batch, rows)
        position = TopicPartition(self._options.marker_topic, 0, marker.batch, metadata=marker.note)
        self._until_done(
            lambda seconds: self._producer.send_offsets_to_transaction(
                [position], self._group.consumer_group_metadata(), seconds
            ),
            "adding its position",
        )
        self._until_done(self._producer.commit_transaction, "committing")
        self._is_open = False

    def _produce(self, topic: str, found: Sequence[Message]) -> None:
        try:
            for is_plain, run in runs(found):
                if not is_plain:
                    for message in run:
                        self._producer.produce(topic, **message)
                elif self._producer.produce_batch(topic, run) < len(run):
                    error = next(message["_error"] for message in run if "_error" in message)
                    raise self._refused(topic, error)
        except KafkaException as exception:
            raise self._refused(topic, exception.args[0]) from None
        self._producer.poll(0)

    def _make_room(self, rows: int, size: int) -> None:
        """Empty the queue before it would refuse records in the middle."""
        if self._rows_waiting + rows > QUEUE_ROWS_MAX or self._bytes_waiting + size > QUEUE_BYTES_MAX:
            self._drain()
        self._rows_waiting += rows
        self._bytes_waiting += size

    def _drain(self) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._producer.flush(1.0) and self._failure is None and time.monotonic() < deadline:
            pass
        if self._failure is not None or len(self._producer):
            raise self._refused(self._options.topic or "several topics", self._failure)
        self._rows_waiting = self._bytes_waiting = 0

    def _delivered(self, error: KafkaError | None, _message: object) -> None:
        """Keep the first reason; those that follow are that the transaction has failed."""
        if error is not None and self._failure is None:
            self._failure = error

    def _refused(self, topic: str, error: KafkaError | None) -> RiverlogError:
        if error is not None and error.code() in _FENCED:
            return self._fenced()
        reason = self._trouble.text or "no answer in time" if error is None else error_text(error)
        return RowsRefused(f"{self._place}: rows for {topic} were not taken: {reason}")

    def _fenced(self) -> TaskFenced:
        return TaskFenced(
            f"{self._place}: another attempt has taken its place, or its transaction was open for longer "
            f"than kafka.transaction.timeout.ms={self._options.transaction_ms}; nothing of it is visible"
        )

    def _check_places(self, topic: str, found: Sequence[Message]) -> None:
        """Refuse what the client library would find out late, and say in fewer words."""
        if topic not in self._partitions and not self._exists(topic, CREATION_SECONDS_MAX):
            raise UnknownTopic(
                KafkaError.UNKNOWN_TOPIC_OR_PART,
                f"the topic {topic!r} does not exist, and the cluster does not create it: create it first",
            )
        least = min(message["partition"] for message in found)
        most = max(message["partition"] for message in found)
        if least < -1 or most >= self._partitions[topic]:
            wrong = least if least < -1 else most
            raise RowsRefused(
                f"{self._place}: a row asks for partition {wrong} of {topic}, "
                f"which has {self._partitions[topic]}"
            )

    def _exists(self, topic: str, creation_seconds: float = 0.0) -> bool:
        """Look a topic up, which makes some clusters create it: it may be unknown for `creation_seconds`."""
        began = time.monotonic()
        while True:
            listed = self._until_done(
                lambda seconds: self._producer.list_topics(topic, seconds), f"looking up {topic}"
            )
            described = listed.topics[topic]
            error = described.error
            if error is None and described.partitions:
                self._partitions[topic] = len(described.partitions)
                return True
            if error is not None and error.code() in _UNKNOWN:
                if time.monotonic() >= began + creation_seconds:
                    return False
            elif error is not None and error.code() not in _PASSING:
                raise refusal(error, f"{self._place}: looking up {topic}")
            if time.monotonic() > began + PATIENCE_SECONDS:
                raise RowsRefused(f"{self._place}: the topic {topic} has no leaders")
            time.sleep(PAUSE_SECONDS)

    def _create(self, topic: str) -> None:
        """Make the marker topic: it stays empty, positions in it are all there is."""
        properties = {name: value for name, value in self._options.properties if _is_connection(name)}
        with Admin(self._options.bootstrap, properties=properties) as admin:
            try:
                admin.create_topic(topic, partitions=1)
            except TopicExists:
                pass  # another task was first
            except RiverlogError as error:
                raise RiverlogError(
                    f"the topic {topic!r}, under whose name the sink keeps its positions, is missing and "
                    "could not be created: create it with one partition, or let `markerTopic` name another "
                    f"({error})"
                ) from error

    def _give_up(self) -> None:
        """Let readers go on at once; if that fails, they go on when the transaction times out."""
        self._is_open = False
        self._producer.purge()
        try:
            self._producer.abort_transaction(ABORT_SECONDS_MAX)
        except KafkaException as exception:
            _log.info("%s: not aborted: %s", self._place, exception.args[0].str())

    def _made(self, client: Callable[[dict[str, Any]], Any], properties: Mapping[str, Any]) -> Any:
        try:
            return client(dict(properties))
        except KafkaException as exception:
            raise RiverlogError(
                f"an option `kafka.…` is not accepted by the client library: {exception.args[0].str()}"
            ) from None

    def _until_done(self, call: Callable[[float], Any], doing: str) -> Any:
        """Ask again as long as that may help; raise what ends the attempt."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            left = deadline - time.monotonic()
            try:
                return call(max(1.0, left))
            except KafkaException as exception:
                error = exception.args[0]
                if self._failure is not None:
                    raise self._refused(self._options.topic or "several topics", self._failure) from None
                if error.code() in _FENCED:
                    raise self._fenced() from None
                if not (error.retriable() or error.code() in _PASSING) or left <= 0:
                    raise refusal_of(
                        exception, f"{self._place}: {doing}", last_trouble=self._trouble.text
                    ) from None
                time.sleep(PAUSE_SECONDS)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """However large Spark makes its batches, few rows at a time become objects of Python."""
    for start in range(0, batch.num_rows, PIECE_ROWS_MAX):
        yield batch.slice(start, PIECE_ROWS_MAX)


def _is_connection(name: str) -> bool:
    """Say whether a property is about reaching the cluster, so that all clients need it."""
    return name.startswith(("security.", "sasl.", "ssl.", "broker.address.", "client.dns."))
