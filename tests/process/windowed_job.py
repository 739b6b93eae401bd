"""A windowed job from topic to topic, as a program that goes on until it is killed.

    python -m tests.process.windowed_job MASTER BOOTSTRAP SOURCE SINK CHECKPOINT

Events are JSON: `{"key": "k1", "at": SECONDS, "amount": 3}`. Out comes, once for each key and window of
`WINDOW_SECONDS`, `[start, key, count, amounts]`. A query that ends with an error is started again from its
checkpoint, in the same program; the program says so, and why.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW_SECONDS = 30
DELAY_SECONDS = 60
STARTED = "a query runs"
PAUSE_SECONDS = 0.2
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.streaming.minBatchesToRetain": "5",
}


def windows(events: DataFrame) -> DataFrame:
    """Count and add up by key and window."""
    from pyspark.sql import functions as F

    read = events.select(
        F.from_json(F.col("value").cast("string"), "key string, at double, amount long").alias("e")
    ).select("e.key", F.col("e.at").cast("timestamp").alias("at"), "e.amount")
    counted = (
        read.withWatermark("at", f"{DELAY_SECONDS} seconds")
        .groupBy(F.window("at", f"{WINDOW_SECONDS} seconds"), "key")
        .agg(F.count("*").alias("count"), F.sum("amount").alias("amounts"))
    )
    return counted.select(
        "key",
        F.to_json(
            F.struct(F.col("window.start").cast("long").alias("start"), "key", "count", "amounts")
        ).alias("value"),
    )


def batch_result(events: Iterable[Mapping[str, Any]]) -> dict[tuple[int, str], tuple[int, int]]:
    """Compute the same without Spark: count and amounts by start of the window and key."""
    found: dict[tuple[int, str], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for event in events:
        start = int(event["at"] // WINDOW_SECONDS) * WINDOW_SECONDS
        count, amounts = found[start, event["key"]]
        found[start, event["key"]] = (count + 1, amounts + event["amount"])
    return dict(found)


def run(spark: SparkSession, bootstrap: str, source: str, sink: str, checkpoint: str) -> None:
    """Run the query, again and again, and say when it begins and why it ended."""
    events = (
        spark.readStream.format("riverlog")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .load()
    )
    writer = (
        windows(events)
        .writeStream.format("riverlog")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", sink)
        .option("checkpointLocation", checkpoint)
    )
    while True:
        query = writer.start()
        print(STARTED, flush=True)
        try:
            query.awaitTermination()
        except Exception as error:
            print(f"the query ended: {str(error)[:2000]}", flush=True)
        time.sleep(PAUSE_SECONDS)


def main() -> int:
    """Run until killed."""
    from riverlog.pipelines import session

    master, bootstrap, source, sink, checkpoint = sys.argv[1:]
    run(session("windowed", master=master, settings=SETTINGS), bootstrap, source, sink, checkpoint)
    return 0


if __name__ == "__main__":
    sys.exit(main())
