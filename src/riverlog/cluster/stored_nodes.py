"""How the cluster's state lies in the coordination store: paths, and JSON in each node.

    /cluster                        {"id": "…", "layout": 1}     written last at the first start
    /producer-ids                   {"next": 3000}               ids below are used up
    /topics/NAME                    {"id": "…", "replicas": [[1], [1]]}
    /topics/NAME/INDEX              {"leader": 1, "isr": [1], "leader_epoch": 2, "partition_epoch": 5}
                                    absent while the partition is as it was created
    /deletions/ID                   {"name": "orders", "partitions": 2}   logs that are still to be removed
    /overrides/TYPE/RESOURCE        {"retention.ms": "60000"}
    /quotas/ENTITY                  {"entity": {"user": "alice", "client-id": null}, "limits": {…}}
    /credentials/USER               {"SCRAM-SHA-256": {"iterations": 4096, "salt": …, "stored_key": …, …}}
    /brokers/ID                     ephemeral: {"endpoints": [[listener, host, port, security]], "rack": …}

A partition "as it was created" is led by its first replica with all replicas in sync, in epochs 0. So a
topic is one node however many partitions it has, and creating one is one small write.

Topic ids are written as Kafka prints them: 16 bytes in URL-safe base64 without padding; salts and keys too.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote

from riverlog.cluster.metadata_image import (
    BrokerRegistration,
    Endpoint,
    Partition,
    QuotaEntity,
    Resource,
    ResourceType,
    ScramCredential,
    ScramMechanism,
    Topic,
)
from riverlog.coordination import Create, Node
from riverlog.errors import StorageError

LAYOUT = 1

CLUSTER = "/cluster"
PRODUCER_IDS = "/producer-ids"
TOPICS = "/topics"
DELETIONS = "/deletions"
OVERRIDES = "/overrides"
QUOTAS = "/quotas"
CREDENTIALS = "/credentials"
BROKERS = "/brokers"

_DEFAULT_NAME = "%default"
"""No name is quoted to this: a percent sign in a name becomes %25."""
_MECHANISM_NAMES: dict[int, str] = {each: each.name.replace("_", "-") for each in ScramMechanism}
_MECHANISMS = {name: mechanism for mechanism, name in _MECHANISM_NAMES.items()}
_TYPE_NAMES = {kind: kind.name.lower().replace("_", "-") for kind in ResourceType}
_TYPES = {name: kind for kind, name in _TYPE_NAMES.items()}


def skeleton(first_producer_id: int) -> list[Create]:
    """List the nodes under which all others are created, in order, and the one of producer ids."""
    return [Create(path) for path in folders()] + [Create(PRODUCER_IDS, encode({"next": first_producer_id}))]


def folders() -> list[str]:
    """List the paths under which all others are, in the order in which they are created."""
    kinds = [f"{OVERRIDES}/{name}" for name in _TYPE_NAMES.values()]
    return [TOPICS, DELETIONS, BROKERS, OVERRIDES, *kinds, QUOTAS, CREDENTIALS]


def topic_path(name: str) -> str:
    """Topic names are node names: their rules exclude all that a path could trip over."""
    return f"{TOPICS}/{name}"


def partition_path(name: str, index: int) -> str:
    """Where a partition's state lies once it differs from the state it was created in."""
    return f"{TOPICS}/{name}/{index}"


def deletion_path(topic_id: bytes) -> str:
    """Where it is noted that a deleted topic's logs are still to be removed."""
    return f"{DELETIONS}/{format_topic_id(topic_id)}"


def overrides_path(resource: Resource) -> str:
    """Where a resource's own settings lie."""
    return f"{OVERRIDES}/{_TYPE_NAMES[resource.type]}/{_quoted(resource.name) or _DEFAULT_NAME}"


def resource_of(path: str) -> Resource:
    """Say whose settings lie at a path."""
    _, _, kind, name = path.split("/")
    return Resource(_TYPES[kind], "" if name == _DEFAULT_NAME else unquote(name))


def quotas_path(entity: QuotaEntity) -> str:
    """Where the limits of users, clients or an address lie."""
    parts = (f"{kind}={_DEFAULT_NAME if name is None else _quoted(name)}" for kind, name in entity)
    return f"{QUOTAS}/{','.join(parts)}"


def credentials_path(user: str) -> str:
    """Where a user's credentials lie."""
    return f"{CREDENTIALS}/{_quoted(user)}"


def user_of(path: str) -> str:
    """Say whose credentials lie at a path."""
    return unquote(path.rpartition("/")[2])


def _quoted(name: str) -> str:
    """Write any name as one that a path can have."""
    return quote(name, safe="").replace(".", "%2E")


def broker_path(broker_id: int) -> str:
    """Where a broker registers."""
    return f"{BROKERS}/{broker_id}"


def encode(value: Mapping[str, Any]) -> bytes:
    """Write a node's content."""
    return json.dumps(value, separators=(",", ":")).encode()


def decode(path: str, node: Node) -> dict[str, Any]:
    """Read a node's content."""
    try:
        value = json.loads(node.data.decode())
    except ValueError as error:
        raise StorageError("cluster state is not JSON", path=path) from error
    if not isinstance(value, dict):
        raise StorageError("cluster state is not an object", path=path)
    return value


def encode_topic(topic: Topic) -> bytes:
    """Write a topic's node: what never depends on who is alive."""
    return encode(
        {
            "id": format_topic_id(topic.topic_id),
            "replicas": [partition.replicas for partition in topic.partitions],
        }
    )


def decode_topic(name: str, node: Node, states: Mapping[int, Partition]) -> Topic:
    """Read a topic's node; `states` holds the partitions that are not as they were created."""
    content = decode(topic_path(name), node)
    fresh: dict[tuple[int, ...], Partition] = {}
    partitions = []
    for index, replicas in enumerate(content["replicas"]):
        key = tuple(replicas)
        partition = states.get(index) or fresh.get(key)
        if partition is None:
            # Shared by all partitions that are alike: most of ten thousand are.
            partition = fresh[key] = as_created(key)
        partitions.append(partition if partition.replicas == key else partition._replace(replicas=key))
    return Topic(name, parse_topic_id(content["id"]), tuple(partitions))


def as_created(replicas: tuple[int, ...]) -> Partition:
    """Build the state of a partition of which nothing but its replicas is stored."""
    return Partition(replicas, replicas, replicas[0], 0, 0)


def encode_partition(partition: Partition) -> bytes:
    """Write a partition's state; its replicas are in the topic's node."""
    return encode(
        {
            "leader": partition.leader,
            "isr": partition.isr,
            "leader_epoch": partition.leader_epoch,
            "partition_epoch": partition.partition_epoch,
        }
    )


def decode_partition(path: str, node: Node) -> Partition:
    """Read a partition's state, its replicas left empty."""
    content = decode(path, node)
    return Partition(
        replicas=(),
        isr=tuple(content["isr"]),
        leader=content["leader"],
        leader_epoch=content["leader_epoch"],
        partition_epoch=content["partition_epoch"],
    )


def encode_broker(broker: BrokerRegistration) -> bytes:
    """Write a broker's registration."""
    return encode({"endpoints": broker.endpoints, "rack": broker.rack, "epoch": broker.epoch})


def decode_broker(path: str, node: Node) -> BrokerRegistration:
    """Read a broker's registration."""
    content = decode(path, node)
    return BrokerRegistration(
        broker_id=int(path.rpartition("/")[2]),
        endpoints=tuple(Endpoint(*endpoint) for endpoint in content["endpoints"]),
        rack=content["rack"],
        epoch=content["epoch"],
    )


def encode_quotas(entity: QuotaEntity, limits: Mapping[str, float]) -> bytes:
    """Write an entity's limits."""
    return encode({"entity": dict(entity), "limits": limits})


def decode_quotas(path: str, node: Node) -> tuple[QuotaEntity, dict[str, float]]:
    """Read an entity and its limits."""
    content = decode(path, node)
    return tuple(sorted(content["entity"].items())), content["limits"]


def encode_credentials(credentials: Mapping[int, ScramCredential]) -> bytes:
    """Write a user's credentials."""
    return encode(
        {
            _MECHANISM_NAMES[mechanism]: {
                "iterations": credential.iterations,
                "salt": _base64(credential.salt),
                "stored_key": _base64(credential.stored_key),
                "server_key": _base64(credential.server_key),
            }
            for mechanism, credential in credentials.items()
        }
    )


def decode_credentials(path: str, node: Node) -> dict[int, ScramCredential]:
    """Read a user's credentials."""
    return {
        _MECHANISMS[name]: ScramCredential(
            iterations=content["iterations"],
            salt=_from_base64(content["salt"]),
            stored_key=_from_base64(content["stored_key"]),
            server_key=_from_base64(content["server_key"]),
        )
        for name, content in decode(path, node).items()
    }


def format_topic_id(topic_id: bytes) -> str:
    """Write an id as Kafka prints it."""
    return _base64(topic_id)


def parse_topic_id(text: str) -> bytes:
    """Read an id as Kafka prints it."""
    return _from_base64(text)


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
