"""Decides on limits for users, clients and addresses (KIP-546).

A limit belongs to an entity: some of user and client, or an address. None in place of a name stands for
"every one that has no limits of its own". An entity is written as its types and names, sorted by type:

    (("client-id", "loader"), ("user", None))       the client "loader" of any other user

An entity's edits are done as a whole or not at all. Pure: who is slowed down by a limit is decided elsewhere.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from riverlog.cluster.changes import Change, Refusal
from riverlog.cluster.metadata_image import MetadataImage, QuotaEntity
from riverlog.cluster.stored_nodes import encode_quotas, quotas_path
from riverlog.coordination import ANY_VERSION, PATH_BYTES_MAX, Create, Delete, Operation, Set
from riverlog.errors import RequestRefused
from riverlog.protocol.error_codes import ErrorCode

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ENTITY_TYPES = frozenset({USER, CLIENT_ID, IP})

IS_WHOLE: Mapping[str, Mapping[str, bool]] = {
    "client": {
        "producer_byte_rate": True,
        "consumer_byte_rate": True,
        "request_percentage": False,
        "controller_mutation_rate": False,
    },
    IP: {"connection_creation_rate": True},
}
"""The limits there are, and whether each is a whole number."""
FRACTION_MAX = 1e-6
"""How far from a whole number a limit may be that is one: clients count in floating point."""


class QuotaEdit(NamedTuple):
    """Set a limit, or with None remove it."""

    name: str
    value: float | None


class QuotaEdits(NamedTuple):
    """Edits of one entity's limits, as somebody asked for them."""

    entity: Sequence[tuple[str, str | None]]
    edits: Sequence[QuotaEdit]


Outcome: TypeAlias = Change | Refusal


def decide_quotas(image: MetadataImage, requests: Sequence[QuotaEdits]) -> dict[int, Outcome]:
    """Decide on edits, by position in the request; an entity named twice is refused both times."""
    counts = Counter(entity_of(request.entity) for request in requests)
    outcomes: dict[int, Outcome] = {}
    for position, request in enumerate(requests):
        entity = entity_of(request.entity)
        try:
            if counts[entity] > 1:
                raise _refused("the entity is named twice in this request")
            _check_entity(request.entity)
            outcomes[position] = _decide(image, entity, request.edits)
        except RequestRefused as refused:
            outcomes[position] = Refusal(refused.error_code, refused.message)
    return outcomes


def entity_of(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Write an entity in its one order."""
    return tuple(sorted(parts, key=lambda part: (part[0], part[1] or "")))


def _check_entity(parts: Sequence[tuple[str, str | None]]) -> None:
    if not parts:
        raise _refused("limits belong to a user, a client or an address, and none is named")
    types = [entity_type for entity_type, _ in parts]
    for entity_type, name in parts:
        if entity_type not in ENTITY_TYPES:
            raise _refused(f"there are no entities of type {entity_type!r}")
        if name == "":
            raise _refused(f"the name of the {entity_type} is empty")
        if entity_type == IP and name is not None and not _is_address(name):
            raise _refused(f"{name!r} is not an IP address")
    if len(set(types)) < len(types):
        raise _refused("an entity has one name of each type")
    if IP in types and len(types) > 1:
        raise _refused("an address is an entity of its own, apart from users and clients")
    if len(quotas_path(entity_of(parts)).encode()) > PATH_BYTES_MAX:
        raise _refused("the names are too long")


def _decide(image: MetadataImage, entity: QuotaEntity, edits: Sequence[QuotaEdit]) -> Change:
    kind = IP if entity[0][0] == IP else "client"
    counts = Counter(edit.name for edit in edits)
    former = image.client_quotas.get(entity, {})
    limits = dict(former)
    for name, value in edits:
        if counts[name] > 1:
            raise _refused(f"{name} is named twice for one entity")
        if name not in IS_WHOLE[kind]:
            raise _refused(f"{name!r} is not a limit of this entity: {', '.join(IS_WHOLE[kind])}")
        if value is None:
            limits.pop(name, None)
            continue
        if not 0 < value < float("inf"):
            raise _refused(f"{name} is a number above 0, not {value}")
        if IS_WHOLE[kind][name] and abs(value - round(value)) > FRACTION_MAX:
            raise _refused(f"{name} is a whole number, not {value}")
        limits[name] = value
    return Change(_operations(entity, former, limits), quotas=(entity, limits))


def _operations(
    entity: QuotaEntity, former: Mapping[str, float], limits: Mapping[str, float]
) -> tuple[Operation, ...]:
    path = quotas_path(entity)
    if limits == former:
        return ()
    if not limits:
        return (Delete(path, ANY_VERSION),)
    content = encode_quotas(entity, limits)
    return (Set(path, content, ANY_VERSION),) if former else (Create(path, content),)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _refused(why: str) -> RequestRefused:
    return RequestRefused(ErrorCode.INVALID_REQUEST, why)
