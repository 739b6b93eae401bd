"""A broker without sockets, asked as a client would: every message passes through its bytes."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from riverlog.broker.apis import HANDLERS
from riverlog.broker.broker import Broker
from riverlog.broker.dispatch import Dispatcher
from riverlog.broker.handler import Parked
from riverlog.cluster import NewTopic, Topic
from riverlog.config import load_config
from riverlog.log import PartitionLog
from riverlog.protocol import messages
from riverlog.protocol.headers import read_request_header
from riverlog.protocol.versions import APIS
from riverlog.protocol.wire import read_response, write_request
from tests.batch_builders import batch

Answer = TypeVar("Answer")

KEYS = {api.name: api.key for api in APIS.values()}
LISTENER = "PLAINTEXT"
PORT = 9092


class AskedBroker:
    """An open broker. `ask` takes a request message and gives the response message."""

    def __init__(self, directory: Path, *flags: str) -> None:
        self.loop = asyncio.new_event_loop()
        data = None if any(flag.startswith("log.dirs=") for flag in flags) else str(directory / "data")
        config = load_config(port=PORT, data=data, flags=flags)
        self.broker = Broker(config, self.loop)
        self._dispatcher = Dispatcher(self.broker, HANDLERS)
        self.broker.advertised_versions = self._dispatcher.advertised_versions()
        self.connection: Any = SimpleNamespace(
            listener_name=LISTENER,
            peer_host="127.0.0.1",
            peer_name="127.0.0.1:1",
            software_name="",
            software_version="",
            produce_shape=None,
        )
        self._correlation_ids = itertools.count(1)
        self.loop.run_until_complete(self.broker.open([(LISTENER, "127.0.0.1", PORT)]))

    def ask(self, request: Any, version: int | None = None) -> Any:
        """Send a request in a version, the newest unless said otherwise."""
        key = KEYS[type(request).__name__.removesuffix("Request")]
        if version is None:
            version = APIS[key].max_version
        correlation_id = next(self._correlation_ids)
        frame = write_request(key, version, correlation_id, "a test", request)
        reply = self._dispatcher(self.connection, bytearray(frame), 4, len(frame))
        if isinstance(reply, Parked):
            reply = self.loop.run_until_complete(self._wait_for(reply))
        if isinstance(reply, list):
            reply = b"".join(reply)  # a fetch without records: with them it holds runs of files
        assert isinstance(reply, bytes)
        answered_id, response = read_response(key, version, reply, 4, len(reply))
        assert answered_id == correlation_id
        assert read_request_header(frame, 4, len(frame)).api_key == key
        return response

    def tell(self, request: Any, version: int) -> Any:
        """Send a request whose answer, if there is one, is given as it comes."""
        key = KEYS[type(request).__name__.removesuffix("Request")]
        frame = write_request(key, version, next(self._correlation_ids), "a test", request)
        return self._dispatcher(self.connection, bytearray(frame), 4, len(frame))

    def topic(self, name: str, partitions: int = 1, **overrides: str) -> Topic:
        """Make a topic; underscores in the names of overrides stand for dots."""
        settings = [(setting.replace("_", "."), value) for setting, value in overrides.items()]
        made = self.broker.cluster.create_topics([NewTopic(name, partitions, 1, overrides=settings)])[name]
        assert isinstance(made, Topic), made
        return made

    def log(self, topic: str, index: int = 0) -> PartitionLog:
        """Find a partition's log, which has to be there."""
        log = self.broker.partitions.find(topic, index)
        assert log is not None
        return log

    def append(self, topic: str, count: int = 3, *, index: int = 0, **options: Any) -> None:
        """Append one batch of records, a millisecond apart."""
        data = batch(count, **options)
        result = self.log(topic, index).append(data, 0, len(data), self.broker.now_ms())
        assert result.error_code == 0, result

    def close(self) -> None:
        self.loop.run_until_complete(self.broker.close(clean=True))
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    async def _wait_for(self, parked: Parked) -> Any:
        done = asyncio.Event()
        parked.attach(done.set)
        if not parked.is_resolved:
            await asyncio.wait_for(done.wait(), 30)
        return parked.reply


def metadata_of(*names: str, **fields: Any) -> messages.MetadataRequest:
    """Ask for topics by name."""
    return messages.MetadataRequest(
        topics=[messages.MetadataRequestTopic(name=name) for name in names], **fields
    )
