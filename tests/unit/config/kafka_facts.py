"""What Apache Kafka 4.3.1 says of its own settings: names, types, defaults, which may change live.

The facts in `kafka_4_3_settings.tsv` were printed by Kafka's own classes (KafkaConfig, LogConfig and
DynamicBrokerConfig); they hold no text of Kafka's.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Fact(NamedTuple):
    """One setting of Kafka's. `default` is text; "null" means none, "<none>" that it must be given."""

    scope: str
    name: str
    type: str
    default: str
    mode: str
    visibility: str


def _facts() -> list[Fact]:
    lines = Path(__file__).with_name("kafka_4_3_settings.tsv").read_text().splitlines()
    return [Fact(*line.split("\t")) for line in lines if not line.startswith("#")]


BROKER = {fact.name: fact for fact in _facts() if fact.scope == "broker"}
TOPIC = {fact.name: fact for fact in _facts() if fact.scope == "topic" and fact.visibility == "public"}
