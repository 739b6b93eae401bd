"""The broker as a process: open the data, listen, serve until told to stop, close in order.

    lock directories ─▶ load or recover logs ─▶ cluster state ─▶ bind ─▶ `listening on HOST:PORT`
    stop: accept nobody ─▶ answer parked fetches ─▶ drain connections ─▶ last fsyncs ─▶ checkpoints ─▶ unlock

Stopping is bounded by `shutdown.timeout.ms`; what is not drained by then is cut, as a crash would
cut it, and nothing acknowledged is lost by that.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from riverlog.broker.apis import HANDLERS
from riverlog.broker.broker import Broker
from riverlog.broker.dispatch import Dispatcher
from riverlog.broker.housekeeping import Housekeeping
from riverlog.broker.listening import Listeners
from riverlog.broker.request_memory import RequestMemory

if TYPE_CHECKING:
    from riverlog.broker.metrics.endpoint import MetricsEndpoint
    from riverlog.config import BrokerConfig

logger = logging.getLogger("riverlog.broker")


class Server:
    """One broker in the running event loop: `await start()`, later `await stop()`."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config
        self._broker: Broker | None = None
        self._listeners: Listeners | None = None
        self._housekeeping: Housekeeping | None = None
        self._metrics: MetricsEndpoint | None = None
        self.addresses: list[tuple[str, int]] = []
        """Host and port of each listener, as bound; known once started."""
        self.metrics_address: tuple[str, int] | None = None
        """Where metrics are served, if they are; known once started."""

    @property
    def broker(self) -> Broker:
        """The running broker."""
        assert self._broker is not None, "the server was not started"
        return self._broker

    async def start(self) -> None:
        """Open the data and serve; raises RiverlogError with a text for people if that cannot be."""
        loop = asyncio.get_running_loop()
        broker = Broker(self._config, loop)
        dispatcher = Dispatcher(broker, HANDLERS)
        broker.advertised_versions = dispatcher.advertised_versions()
        network = self._config.settings.network
        memory = RequestMemory(network.queued_max_request_bytes)
        listeners = Listeners(network, loop=loop, dispatch=dispatcher, memory=memory)
        metrics: MetricsEndpoint | None = None
        try:
            # Ports are taken before the data is touched: the commonest mistake should cost nothing.
            bound = listeners.bind()
            metrics = _metrics_endpoint(broker, listeners, memory)
            await broker.open(bound)
            if metrics is not None:
                await metrics.start()
        except BaseException:
            listeners.stop_listening()
            if metrics is not None:
                await metrics.stop()
            await broker.close(clean=False)
            raise
        broker.on_settings_changed.append(lambda changed: listeners.follow(changed.network))
        self._broker, self._listeners = broker, listeners
        self._housekeeping = Housekeeping(broker)
        self._housekeeping.start()
        self.addresses = [(host, port) for _name, host, port in bound]
        if metrics is not None:
            self._metrics, self.metrics_address = metrics, metrics.address
        listeners.start_accepting()

    async def stop(self) -> None:
        """Stop serving and close the data; safe to call when the start failed or it was called before."""
        if self._broker is None or self._listeners is None:
            return
        broker, listeners = self._broker, self._listeners
        self._broker = self._listeners = None
        timeout = self._config.settings.node.shutdown_timeout_ms / 1000
        listeners.stop_listening()
        if self._housekeeping is not None:
            await self._housekeeping.stop()
        if self._metrics is not None:
            await self._metrics.stop()
        broker.waiters.finish_all()
        await listeners.drain(timeout)
        await broker.close(clean=True)


def _metrics_endpoint(broker: Broker, listeners: Listeners, memory: RequestMemory) -> MetricsEndpoint | None:
    """Take the port for metrics, if there is to be one."""
    monitoring = broker.settings.monitoring
    if monitoring.metrics_port is None:
        return None
    # Loaded on demand: a broker without it should not pay for it.
    from riverlog.broker.metrics.endpoint import MetricsEndpoint
    from riverlog.broker.metrics.scrape import Sources
    from riverlog.broker.metrics.table import metrics_text

    sources = Sources(broker, listeners, memory, time.time())
    return MetricsEndpoint(monitoring.metrics_host, monitoring.metrics_port, lambda: metrics_text(sources))


def run(config: BrokerConfig, on_listening: Callable[[str, int], None] | None = None) -> int:
    """Serve in this thread until SIGTERM or Ctrl-C; give the process's exit code."""
    _raise_file_limit()
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        return runner.run(_serve(config, on_listening or _announce))


def _announce(host: str, port: int) -> None:
    print(f"listening on {host}:{port}", flush=True)


async def _serve(config: BrokerConfig, on_listening: Callable[[str, int], None]) -> int:
    loop = asyncio.get_running_loop()
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told_to_stop.set)
    server = Server(config)
    await server.start()
    # What exists now lives as long as the process: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    for host, port in server.addresses:
        on_listening(host, port)
    if server.metrics_address is not None:
        host, port = server.metrics_address
        print(f"metrics on http://{f'[{host}]' if ':' in host else host}:{port}/metrics", flush=True)
    await told_to_stop.wait()
    # A second signal must be able to end a stop that hangs.
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.remove_signal_handler(number)
    logger.info("stopping")
    await server.stop()
    return 0


def _new_loop() -> asyncio.AbstractEventLoop:
    """Make uvloop's event loop where it is installed, asyncio's otherwise."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def _raise_file_limit() -> None:
    """Use as many open files as the system allows: a partition needs one, a connection another."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if sys.platform == "darwin":
        hard = min(hard, 10_240)
    with contextlib.suppress(ValueError, OSError):
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
