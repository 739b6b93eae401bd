"""The how-to about lag works when pasted: its commands run in order and print what the page says."""

from __future__ import annotations

from pathlib import Path

from riverlog.groups import Lag, Risk, warning
from riverlog.log.retention import Outlook
from tests.eventually import eventually
from tests.live_broker import LiveBroker

from .page import DOCS, Reader, blocks

PAGE = "how-to/watch-consumer-lag.md"
STARTS_BROKER = "riverlog up --set metrics.port=9464 &"
DEFAULT_METRICS = "http://127.0.0.1:9464/metrics"
SERVES_METRICS = "metrics on "


def test_the_page_works_when_pasted(tmp_path: Path) -> None:
    ran = 0
    settings = {"metrics.port": "0", "group.initial.rebalance.delay.ms": "0"}
    with LiveBroker(tmp_path / "riverlog-data", settings=settings) as broker:
        reader = Reader(tmp_path, broker.bootstrap)
        eventually(lambda: SERVES_METRICS in broker.output(), "it is said where metrics are")
        metrics = broker.output().partition(SERVES_METRICS)[2].split()[0]
        for block in blocks(PAGE):
            if block.command == STARTS_BROKER:
                continue
            printed = reader.run(block.command.replace(DEFAULT_METRICS, metrics))
            ran += 1
            if block.promised:
                assert printed == block.promised, block.command

    assert ran == 11


def test_the_warning_on_the_page_is_what_the_broker_says() -> None:
    now_ms = 1_738_324_800_000  # 2025-01-31T12:00:00Z
    lag = Lag(2, 0, 3, Outlook(4 * 3_600_000, None, 0.17))

    said = warning(("billing", "orders", 0), lag, Risk.AT_RISK, now_ms, 0.0)

    assert f"WARNING riverlog.broker.lag: {said}" in (DOCS / PAGE).read_text().replace("\n", " ")
