"""kill -9 on driver, workers and broker while a windowed job runs from topic to topic, here and on a cluster.

A failing run prints its seed; RIVERLOG_TEST_SEED=N repeats the choices (not the scheduling).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from riverlog.pipelines.java import JavaMissing, java_home
from tests.eventually import eventually
from tests.process.pipeline_rounds import PipelineRounds
from tests.process.spark_cluster import SparkCluster

pytestmark = pytest.mark.spark
ROUNDS = 50


@pytest.fixture(autouse=True)
def java() -> None:
    try:
        java_home(os.environ)
    except JavaMissing as error:
        pytest.skip(str(error))


def test_windows_are_there_once_and_right_when_worker_broker_and_driver_died(
    tmp_path: Path, seed: int
) -> None:
    rounds = PipelineRounds(tmp_path, seed, print)

    rounds.run([rounds.worker_dies, rounds.broker_dies, rounds.driver_dies])


@pytest.mark.slow
def test_windows_are_there_once_and_right_after_fifty_deaths(tmp_path: Path, seed: int) -> None:
    rounds = PipelineRounds(tmp_path, seed, print)

    rounds.run(rounds.any_of(ROUNDS))


@pytest.mark.slow
def test_a_cluster_gives_the_same_windows_also_when_a_worker_dies(tmp_path: Path, seed: int) -> None:
    with SparkCluster(tmp_path, workers=2) as cluster:
        rounds = PipelineRounds(tmp_path, seed, print, master=cluster.master)

        def nobody_dies() -> str:
            eventually(lambda: len(cluster.executors()) >= 2, "an executor on each worker")
            return "nobody died"

        def spark_worker_dies() -> str:
            cluster.kill_worker(0)
            return "a worker of the cluster killed, with its executor"

        rounds.run([nobody_dies, spark_worker_dies, rounds.driver_dies])
