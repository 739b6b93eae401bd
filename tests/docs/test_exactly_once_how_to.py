"""The how-to about exactly-once writing works when pasted: its program and commands do what the page says."""

from __future__ import annotations

from pathlib import Path

from tests.live_broker import LiveBroker

from .page import Reader, blocks

STARTS_BROKER = "riverlog up &"


def test_the_page_works_when_pasted(tmp_path: Path) -> None:
    ran = 0
    with LiveBroker(tmp_path / "riverlog-data", settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        reader = Reader(tmp_path, broker.bootstrap)
        for block in blocks("how-to/write-exactly-once.md"):
            if block.kind == "python":
                reader.take(block.text)
            elif block.command != STARTS_BROKER:
                assert reader.run(block.command) == block.promised, block.command
                ran += 1

    assert ran == 8
