"""The tutorial works when pasted: its commands and programs run in order, and print what it says."""

from __future__ import annotations

from pathlib import Path

from tests.live_broker import LiveBroker

from .page import Reader, blocks

STARTS_BROKER = "riverlog up &"


def test_the_tutorial_works_when_pasted(tmp_path: Path) -> None:
    ran = 0
    with LiveBroker(tmp_path / "riverlog-data", settings={"group.initial.rebalance.delay.ms": "0"}) as broker:
        reader = Reader(tmp_path, broker.bootstrap)
        for block in blocks("tutorial/first-steps.md"):
            if block.kind == "python":
                reader.take(block.text)
            elif block.command.startswith("pip install") or block.command == STARTS_BROKER:
                continue
            else:
                printed = reader.run(block.command)
                if block.promised:
                    assert sorted(printed.splitlines()) == sorted(block.promised.splitlines()), block.command
            ran += 1

    assert ran == 8
