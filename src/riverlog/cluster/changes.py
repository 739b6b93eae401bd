"""One decided change: what to write to the store, and what it makes of the metadata image.

request ──decide──▶ Change | Refusal          topics.py, overrides.py, ... pure
changes ──pack──▶ commits of the store        a change is never split over two commits
image, changes ──apply──▶ next image, Delta   what listeners (the broker's logs) act upon
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from riverlog.cluster.metadata_image import MetadataImage, QuotaEntity, Resource, ScramCredential, Topic
from riverlog.coordination import TRANSACTION_BYTES_MAX, Operation, operation_bytes


class Refusal(NamedTuple):
    """Why a request, or one entry of it, is not done: the protocol's error number and a text."""

    error_code: int
    message: str


class Change(NamedTuple):
    """Something decided. All its operations go into one commit of the store."""

    operations: tuple[Operation, ...]
    created: Topic | None = None
    updated: Topic | None = None
    """The topic with partitions added, or with partitions in another state."""
    deleted: Topic | None = None
    overrides: tuple[Resource, Mapping[str, str]] | None = None
    quotas: tuple[QuotaEntity, Mapping[str, float]] | None = None
    credentials: tuple[str, Mapping[int, ScramCredential]] | None = None


class Delta(NamedTuple):
    """What listeners are told: the images before and after, and the topics between them."""

    before: MetadataImage
    after: MetadataImage
    created: tuple[Topic, ...]
    updated: tuple[Topic, ...]
    deleted: tuple[Topic, ...]
    reconfigured: tuple[Resource, ...]
    """Resources whose settings changed; not those of created and deleted topics."""


def apply(image: MetadataImage, changes: Sequence[Change]) -> Delta:
    """Make the next image."""
    created = tuple(change.created for change in changes if change.created is not None)
    updated = tuple(change.updated for change in changes if change.updated is not None)
    deleted = tuple(change.deleted for change in changes if change.deleted is not None)
    overrides = [change.overrides for change in changes if change.overrides is not None]
    quotas = [change.quotas for change in changes if change.quotas is not None]
    credentials = [change.credentials for change in changes if change.credentials is not None]
    after = image
    if created or updated:
        after = after.with_topics(created + updated)
    if deleted:
        after = after.without_topics(topic.name for topic in deleted)
    if overrides:
        after = after.with_overrides(dict(overrides))
    if quotas:
        after = after.with_client_quotas(dict(quotas))
    if credentials:
        after = after.with_credentials(dict(credentials))
    reconfigured = tuple(
        change.overrides[0] for change in changes if change.overrides is not None and change.created is None
    )
    return Delta(image, after, created, updated, deleted, reconfigured)


def pack(changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Group changes into commits that a store takes, in order."""
    group: list[Change] = []
    group_bytes = 0
    for change in changes:
        change_bytes = sum(operation_bytes(operation) for operation in change.operations)
        if group and group_bytes + change_bytes > TRANSACTION_BYTES_MAX:
            yield group
            group, group_bytes = [], 0
        group.append(change)
        group_bytes += change_bytes
    if group:
        yield group
