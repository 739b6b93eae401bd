"""librdkafka at full speed, from Python: the library inside confluent-kafka's wheel, through ctypes.

confluent-kafka makes a Python object per message; that would make Python the limit, not librdkafka. Here
messages are handed over by the thousand (`rd_kafka_produce_batch`) and taken by the queue-full
(`rd_kafka_consume_callback_queue`); what happens per message happens in C.

- The message array is built once and its payload is neither copied nor freed by librdkafka, so it must
  outlive the producer's queue.
- A consumer's callback must be a C function. `labs` of the C library serves: it looks at its argument,
  touches nothing and returns. Counting is done by librdkafka, which returns how many messages it passed on.
- What librdkafka returns may include an event or two of its own among a million messages.
- No delivery reports are asked for; the loads compare what was acknowledged with the log's end offset.
"""

import ctypes
import time
from collections.abc import Mapping
from pathlib import Path

import confluent_kafka

from bench.errors import LoadFailed

BATCH_MESSAGES = 10_000
QUEUE_MESSAGES = 100_000  # librdkafka's default of queue.buffering.max.messages
PARTITION_PER_MESSAGE = 0x8
PRODUCER, CONSUMER = 0, 1
OFFSET_BEGINNING = -2
QUEUE_FULL = -184
FLUSH_MS_MAX = 60_000
CONSUME_MS = 100
ERROR_BYTES = 512


class Message(ctypes.Structure):
    """`rd_kafka_message_t`."""

    _fields_ = (
        ("err", ctypes.c_int),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_size", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("private", ctypes.c_void_p),
    )


def _library_path() -> str:
    """Return the library file that the extension module has loaded; the memory map names it for sure."""
    assert confluent_kafka.libversion()
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if Path(path).name.startswith("librdkafka"):
            return path
    raise LoadFailed("confluent-kafka does not bring a shared librdkafka")


def _load() -> ctypes.CDLL:
    library = ctypes.CDLL(_library_path())
    pointer, text, size, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
    signatures: dict[str, tuple[object, list[object]]] = {
        "rd_kafka_conf_new": (pointer, []),
        "rd_kafka_conf_set": (number, [pointer, text, text, text, size]),
        "rd_kafka_new": (pointer, [number, pointer, text, size]),
        "rd_kafka_destroy": (None, [pointer]),
        "rd_kafka_topic_new": (pointer, [pointer, text, pointer]),
        "rd_kafka_topic_destroy": (None, [pointer]),
        "rd_kafka_produce_batch": (number, [pointer, ctypes.c_int32, number, pointer, number]),
        "rd_kafka_flush": (number, [pointer, number]),
        "rd_kafka_outq_len": (number, [pointer]),
        "rd_kafka_queue_new": (pointer, [pointer]),
        "rd_kafka_queue_destroy": (None, [pointer]),
        "rd_kafka_consume_start_queue": (number, [pointer, ctypes.c_int32, ctypes.c_int64, pointer]),
        "rd_kafka_consume_stop": (number, [pointer, ctypes.c_int32]),
        "rd_kafka_consume_callback_queue": (number, [pointer, number, pointer, pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class _Handle:
    """A librdkafka instance with one topic."""

    def __init__(self, kind: int, port: int, topic: str, settings: Mapping[str, str]) -> None:
        self.library = _load()
        error = ctypes.create_string_buffer(ERROR_BYTES)
        configuration = self.library.rd_kafka_conf_new()
        # Without a callback of ours, errors of the instance go to librdkafka's log on stderr.
        for name, value in {"bootstrap.servers": f"127.0.0.1:{port}", **settings}.items():
            if self.library.rd_kafka_conf_set(
                configuration, name.encode(), value.encode(), error, ERROR_BYTES
            ):
                raise LoadFailed(error.value.decode())
        self.instance = self.library.rd_kafka_new(kind, configuration, error, ERROR_BYTES)
        if not self.instance:
            raise LoadFailed(error.value.decode())
        self.topic = self.library.rd_kafka_topic_new(self.instance, topic.encode(), None)

    def close(self) -> None:
        """End the instance and its threads."""
        self.library.rd_kafka_topic_destroy(self.topic)
        self.library.rd_kafka_destroy(self.instance)


class Producer(_Handle):
    """Produce equal messages, evenly over a number of partitions."""

    def __init__(
        self, port: int, topic: str, partitions: int, message_bytes: int, settings: Mapping[str, str]
    ) -> None:
        super().__init__(PRODUCER, port, topic, settings)
        self._payload = bytes(index & 0xFF for index in range(message_bytes))
        # A multiple of the partitions, so that every batch goes round all of them.
        self._batch_messages = -(-BATCH_MESSAGES // partitions) * partitions
        self._messages = (Message * self._batch_messages)()
        for index, message in enumerate(self._messages):
            message.payload, message.size, message.partition = (
                self._payload,
                message_bytes,
                index % partitions,
            )

    def produce(self, count: int, seconds_max: float) -> int:
        """Hand over messages until there were `count` or the time is up, and wait until all are acknowledged.

        A full queue is left to drain to half before it is filled again. Refilled message by message, it makes
        batches of one: which regime a run falls into would be chance, and a factor of ten.

        Returns how many messages were handed over.

        Raises:
            LoadFailed: a message was refused for another reason than a full queue, or never acknowledged.
        """
        deadline = time.monotonic() + seconds_max
        left = count
        while left and time.monotonic() < deadline:
            wanted = min(left, self._batch_messages)
            taken = self._hand_over(wanted)
            left -= taken
            if taken < wanted:
                while self.library.rd_kafka_outq_len(self.instance) > QUEUE_MESSAGES // 2:
                    time.sleep(0.001)
        if self.library.rd_kafka_flush(self.instance, FLUSH_MS_MAX):
            raise LoadFailed(f"messages not acknowledged after {FLUSH_MS_MAX} ms")
        return count - left

    def _hand_over(self, count: int) -> int:
        taken: int = self.library.rd_kafka_produce_batch(
            self.topic, 0, PARTITION_PER_MESSAGE, self._messages, count
        )
        if taken < count:
            refused = {message.err for message in self._messages[:count] if message.err}
            if refused != {QUEUE_FULL}:
                raise LoadFailed(f"produce answered errors {refused}")
        return taken


class Consumer(_Handle):
    """Consume one partition from its beginning, without a group."""

    def __init__(self, port: int, topic: str, settings: Mapping[str, str]) -> None:
        super().__init__(CONSUMER, port, topic, settings)
        self._queue = self.library.rd_kafka_queue_new(self.instance)
        self._ignore = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p)

    def start(self) -> None:
        """Begin to fetch."""
        if self.library.rd_kafka_consume_start_queue(self.topic, 0, OFFSET_BEGINNING, self._queue):
            raise LoadFailed("librdkafka does not start to consume")

    def consume(self, count: int, seconds_max: float) -> int:
        """Take messages until there were `count`, or the time is up; return how many there were."""
        deadline = time.monotonic() + seconds_max
        consumed = 0
        while consumed < count and time.monotonic() < deadline:
            consumed += max(
                0, self.library.rd_kafka_consume_callback_queue(self._queue, CONSUME_MS, self._ignore, None)
            )
        return consumed

    def close(self) -> None:
        """Stop fetching and end the instance."""
        self.library.rd_kafka_consume_stop(self.topic, 0)
        self.library.rd_kafka_queue_destroy(self._queue)
        super().close()
