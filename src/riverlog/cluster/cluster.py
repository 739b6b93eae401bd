"""The cluster as a broker knows it: asks the store, keeps the image, tells the listeners.

Every change takes the same way, and a crash between two steps leaves the old state or the new one:

    decide (pure) ─▶ commit to the store, durable ─▶ swap the image ─▶ tell the listeners
                                                                        └─ deletions: forget the note

Calls are synchronous and belong to one thread, the broker's event loop. A request reads `image` once
and works with that one. A commit costs a sync of the disk, so these are calls for administration and
never for the path of records. What the disk refuses is a refusal of the entries concerned; only `begin`,
`register` and `next_producer_id` raise StorageError.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random, SystemRandom
from typing import TypeVar

from riverlog.cluster.adoption import (
    FoundPartition,
    Reconciliation,
    adopt,
    adopt_overrides,
    adopting,
    reconcile,
)
from riverlog.cluster.changes import Change, Delta, Refusal, apply, pack
from riverlog.cluster.client_quotas import QuotaEdits, decide_quotas
from riverlog.cluster.leadership import decide_elections, decide_new_epochs
from riverlog.cluster.metadata_image import BrokerRegistration, MetadataImage, Resource, Topic
from riverlog.cluster.overrides import OverrideEdits, OverrideRules, decide_overrides
from riverlog.cluster.producer_ids import ProducerIds
from riverlog.cluster.scram_credentials import Deletion, Upsertion, decide_credentials
from riverlog.cluster.stored_image import read_deletions, read_image
from riverlog.cluster.stored_nodes import (
    CLUSTER,
    LAYOUT,
    broker_path,
    deletion_path,
    encode,
    encode_broker,
    folders,
    format_topic_id,
    overrides_path,
    skeleton,
)
from riverlog.cluster.topics import (
    NewPartitions,
    NewTopic,
    TopicDefaults,
    decide_creations,
    decide_deletions,
    decide_growths,
)
from riverlog.config import Change as Edit
from riverlog.config import Operation as EditKind
from riverlog.coordination import ANY_VERSION, Coordination, Create, Delete, Operation
from riverlog.errors import ConfigError, StorageError
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import ProducerId, TopicPartition

ADOPTED_PRODUCER_IDS_START = 1 << 40
"""Where ids start in an adopted cluster: above what another broker can have handed out there."""

NOTHING_OVERRIDDEN: Mapping[Resource, Mapping[str, str]] = {}

Listener = Callable[[Delta], None]
_Key = TypeVar("_Key")

_log = logging.getLogger(__name__)


class Cluster:
    """What is decided, and the way to decide more. One for each broker, used on its event loop."""

    def __init__(
        self,
        store: Coordination,
        *,
        broker_id: int,
        defaults: TopicDefaults,
        rules: OverrideRules,
        random: Random | None = None,
    ) -> None:
        self._store = store
        self._broker_id = broker_id
        self._random = random or SystemRandom()
        self._producer_ids = ProducerIds(store)
        self.defaults = defaults
        """What -1 stands for; replaced by the broker when its settings change."""
        self.rules = rules
        self.listeners: list[Listener] = []
        """Told of each change once the image was swapped; the broker's makes the logs on disk follow."""
        self.is_new = store.get(CLUSTER) is None
        """Nothing was ever decided here: `begin` comes before all else."""
        if not self.is_new:
            self._add_missing_folders()
        self.image = self._empty_image() if self.is_new else read_image(store, broker_id)
        """This moment. Replaced by each change, never changed."""
        self.deletions = set() if self.is_new else read_deletions(store)
        """Ids of deleted topics whose logs may still be on the disk."""

    def begin(
        self,
        *,
        cluster_id: str | None = None,
        found: Iterable[FoundPartition] = (),
        overrides: Mapping[Resource, Mapping[str, str]] = NOTHING_OVERRIDDEN,
    ) -> None:
        """Write the first state: with the topics that were found on disk, if any, and a new id unless given.

        `overrides` are the settings that came along; what this program does not have is dropped and
        logged. All of this is in force, or after a crash nothing: the node that says so is written last.
        """
        assert self.is_new, "a cluster begins once"
        self._discard_interrupted_beginning()
        topics = adopt(found, broker_id=self._broker_id, new_topic_id=self._new_topic_id)
        self._store.commit(skeleton(ADOPTED_PRODUCER_IDS_START if topics else 0))
        self._write(operation for topic in topics for operation in adopting(topic))
        self._write(self._adopting_overrides(adopt_overrides(topics, overrides)))
        content = {"id": cluster_id or format_topic_id(self._new_topic_id()), "layout": LAYOUT}
        self._store.create(CLUSTER, encode(content))
        self.is_new = False
        self.image = read_image(self._store, self._broker_id)

    def register(self, broker: BrokerRegistration) -> None:
        """Say that this broker is alive, and where; again when an address changes.

        Raises `NodeExists` where another process has registered the same id.
        """
        assert broker.broker_id == self._broker_id
        path, content = broker_path(broker.broker_id), encode_broker(broker)
        if broker.broker_id in self.image.brokers:
            self._store.set(path, content, ANY_VERSION)
        else:
            self._store.create(path, content, is_ephemeral=True)
        others = [other for other in self.image.brokers.values() if other.broker_id != broker.broker_id]
        self.image = self.image.with_brokers([*others, broker])

    def create_topics(
        self, requests: Sequence[NewTopic], *, validate_only: bool = False
    ) -> dict[str, Topic | Refusal]:
        """Create topics; answers by name. With `validate_only` the topics returned do not exist."""
        decided = decide_creations(
            self.image,
            requests,
            defaults=self.defaults,
            new_topic_id=self._new_topic_id,
            start=self._random.randrange(1 << 16),
        )
        created: dict[str, Topic | Refusal] = {}
        for name, outcome in self._commit_decided(decided, validate_only=validate_only).items():
            if isinstance(outcome, Refusal):
                created[name] = outcome
            else:
                assert outcome.created is not None
                created[name] = outcome.created
        return created

    def delete_topics(self, names: Sequence[str]) -> dict[str, Refusal | None]:
        """Delete topics; answers by name. Their logs go through the listeners, and once more at the
        next start if this process does not live to see that done."""
        return _refusals(self._commit_decided(decide_deletions(self.image, names)))

    def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> dict[str, Refusal | None]:
        """Add partitions to topics; answers by name."""
        decided = decide_growths(self.image, requests, start=self._random.randrange(1 << 16))
        return _refusals(self._commit_decided(decided, validate_only=validate_only))

    def change_overrides(
        self, requests: Sequence[OverrideEdits], *, validate_only: bool = False
    ) -> dict[Resource, Refusal | None]:
        """Change the settings of topics and other resources; answers by resource."""
        decided = decide_overrides(self.image, requests, self.rules)
        return _refusals(self._commit_decided(decided, validate_only=validate_only))

    def change_quotas(
        self, requests: Sequence[QuotaEdits], *, validate_only: bool = False
    ) -> list[Refusal | None]:
        """Change the limits of users, clients and addresses; answers in the order asked."""
        decided = decide_quotas(self.image, requests)
        return list(_refusals(self._commit_decided(decided, validate_only=validate_only)).values())

    def change_credentials(self, edits: Sequence[Deletion | Upsertion]) -> dict[str, Refusal | None]:
        """Change the credentials of users; answers by user."""
        return _refusals(self._commit_decided(decide_credentials(self.image, edits)))

    def elect_leaders(
        self, partitions: Sequence[TopicPartition], *, is_unclean: bool
    ) -> dict[TopicPartition, Refusal | None]:
        """Give partitions their preferred leader back, or any leader at all (`is_unclean`)."""
        decided = decide_elections(self.image, partitions, is_unclean=is_unclean)
        return _refusals(self._commit_decided(decided))

    def begin_new_leader_epochs(self) -> None:
        """Lead on in the next epoch everywhere: after a crash that may have cost unsynced records."""
        for group in pack(decide_new_epochs(self.image, self._broker_id)):
            self._commit(group)

    def next_producer_id(self) -> ProducerId:
        """Hand out a producer id that was never handed out before."""
        return self._producer_ids.next()

    def reconcile(self, found: Iterable[FoundPartition]) -> Reconciliation:
        """Compare the logs on disk with what is decided; the caller acts on it, then calls
        `forget_deletions`."""
        return reconcile(self.image, list(found), broker_id=self._broker_id, deletions=self.deletions)

    def forget_deletions(self) -> None:
        """Drop the notes on deleted topics: their logs are gone from every disk."""
        self._forget(list(self.deletions))

    def topic_overrides(self, name: str) -> Mapping[str, str]:
        """Return a topic's own settings as they are now; for a topic that is not there, none."""
        return self.image.topic_overrides(name)

    def close(self) -> None:
        """Leave the cluster: the registration goes with the store's session."""
        self._store.close()

    def _commit_decided(
        self, outcomes: dict[_Key, Change | Refusal], *, validate_only: bool = False
    ) -> dict[_Key, Change | Refusal]:
        """Make the changes among the outcomes; from the first that cannot be stored on, all are refused."""
        if validate_only:
            return outcomes
        done: set[int] = set()
        try:
            for group in pack(change for change in outcomes.values() if isinstance(change, Change)):
                self._commit(group)
                done.update(id(change) for change in group)
        except StorageError as error:
            refusal = Refusal(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
            for key, outcome in outcomes.items():
                if isinstance(outcome, Change) and id(outcome) not in done:
                    outcomes[key] = refusal
        return outcomes

    def _commit(self, changes: Sequence[Change]) -> None:
        operations = [operation for change in changes for operation in change.operations]
        if operations:
            self._store.commit(operations)
        delta = apply(self.image, changes)
        self.image = delta.after
        self._tell(delta)

    def _tell(self, delta: Delta) -> None:
        deleted = [topic.topic_id for topic in delta.deleted]
        self.deletions.update(deleted)
        is_followed = True
        for listener in list(self.listeners):
            try:
                listener(delta)
            except Exception:
                # The change is decided, whatever becomes of it here; deletions stay noted for the next start.
                _log.exception("a listener failed to follow a change of the cluster")
                is_followed = False
        if is_followed:
            self._forget(deleted)

    def _forget(self, topic_ids: Sequence[bytes]) -> None:
        self._write(Delete(deletion_path(topic_id), ANY_VERSION) for topic_id in topic_ids)
        self.deletions.difference_update(topic_ids)

    def _add_missing_folders(self) -> None:
        """Create what a program that knew less did not."""
        self._write(Create(path) for path in folders() if self._store.get(path) is None)

    def _discard_interrupted_beginning(self) -> None:
        paths = list(self._store.tree("/"))
        self._write(Delete(path, ANY_VERSION) for path in reversed(paths) if path != "/")

    def _write(self, operations: Iterable[Operation]) -> None:
        """Write operations that change nothing in the image and need not be done together."""
        for group in pack(Change((operation,)) for operation in operations):
            self._store.commit([operation for change in group for operation in change.operations])

    def _adopting_overrides(self, overrides: Mapping[Resource, Mapping[str, str]]) -> Iterator[Operation]:
        """Store adopted settings, as far as they are settings here."""
        for resource, settings in overrides.items():
            accepted: dict[str, str] = {}
            for name, value in settings.items():
                try:
                    accepted = self.rules.alter(resource, accepted, [Edit(name, EditKind.SET, value)])
                except ConfigError as error:
                    of = f"{resource.type.name.lower()} {resource.name or 'default'}"
                    _log.warning("a setting of %s does not come along: %s", of, error)
            if accepted:
                yield Create(overrides_path(resource), encode(accepted))

    def _empty_image(self) -> MetadataImage:
        return MetadataImage.build(cluster_id="", controller_id=self._broker_id, brokers=())

    def _new_topic_id(self) -> bytes:
        """Draw 16 random bytes that are an id nowhere else, and look like none of Kafka's reserved ones."""
        while True:
            topic_id = self._random.randbytes(16)
            is_reserved = int.from_bytes(topic_id, "big") <= 1
            # Kafka's tools take an id that begins with a dash for an option.
            if not is_reserved and not format_topic_id(topic_id).startswith("-"):
                return topic_id


def _refusals(outcomes: Mapping[_Key, Change | Refusal]) -> dict[_Key, Refusal | None]:
    return {key: outcome if isinstance(outcome, Refusal) else None for key, outcome in outcomes.items()}
