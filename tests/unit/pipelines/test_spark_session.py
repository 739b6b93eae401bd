"""Settings of a session, by its master."""

import subprocess
import sys

import pytest

from riverlog.pipelines.spark_session import JVM_FLAGS, LOGGING, combined, defaults, is_local, surroundings


@pytest.mark.parametrize(
    ("master", "partitions"), [("local[*]", "6"), ("local[3]", "3"), ("local", "1"), ("local[2,4]", "2")]
)
def test_a_local_session_has_a_shuffle_partition_for_each_core(master: str, partitions: str) -> None:
    assert defaults(master, cores=6)["spark.sql.shuffle.partitions"] == partitions


def test_a_local_session_listens_on_the_loopback_only() -> None:
    chosen = defaults("local[*]", cores=2)

    assert chosen["spark.driver.bindAddress"] == chosen["spark.driver.host"] == "127.0.0.1"
    assert surroundings({}, "python", "/jdk", "local[*]")["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_on_a_cluster_addresses_and_partitions_are_left_to_spark() -> None:
    chosen = defaults("spark://host:7077", cores=2)

    assert not [
        name for name in chosen if "driver.host" in name or "bindAddress" in name or "shuffle" in name
    ]
    assert "SPARK_LOCAL_IP" not in surroundings({}, "python", "/jdk", "spark://host:7077")


@pytest.mark.parametrize("master", ["local[*]", "spark://host:7077", ""])
def test_state_is_kept_on_disk_wherever_it_runs(master: str) -> None:
    chosen = defaults(master, cores=2)

    assert chosen["spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"] == "true"
    assert "RocksDB" in chosen["spark.sql.streaming.stateStore.providerClass"]


def test_what_the_user_set_of_python_stays() -> None:
    chosen = surroundings({"PYSPARK_PYTHON": "mine"}, "python", "/jdk", "local")

    assert chosen["PYSPARK_PYTHON"] == "mine"
    assert chosen["JAVA_HOME"] == "/jdk"


def test_flags_of_the_jvm_are_added_to_those_that_keep_spark_quiet() -> None:
    chosen = combined(defaults("local", cores=2), {JVM_FLAGS: "-Xss4m", "spark.ui.enabled": "true"})

    assert chosen[JVM_FLAGS].endswith(f"{LOGGING} -Xss4m")
    assert chosen["spark.ui.enabled"] == "true"


def test_the_file_that_quiets_spark_is_part_of_the_package() -> None:
    assert LOGGING.is_file()


@pytest.mark.parametrize("master", ["yarn", "spark://local:7077", "local-cluster[2,1,512]", ""])
def test_a_cluster_is_not_taken_for_this_machine(master: str) -> None:
    assert not is_local(master)


@pytest.mark.parametrize(
    "program", ["import riverlog", "import riverlog.pipelines", "from riverlog.cli import main"]
)
def test_nothing_loads_pyspark_before_it_is_needed(program: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", f"{program}; import sys; sys.exit('pyspark' in sys.modules)"], check=False
    )

    assert finished.returncode == 0


def test_without_pyspark_the_error_says_what_to_install() -> None:
    program = """
import sys
sys.modules["pyspark"] = None
from riverlog.pipelines import SparkMissing, session
try:
    session()
except SparkMissing as error:
    print(error)
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "pip install 'riverlog[spark]'" in finished.stdout
