"""What Apache Kafka's own metadata log says of settings: read once, when its directories are adopted.

Without it a compacted topic would come over as an ordinary one, and retention would eat it.

    LOG_DIR/__cluster_metadata-0/
      00000000000000000042-0000000003.checkpoint   snapshot: all that was so before offset 42
      00000000000000000000.log                     what was decided since, batch by batch

    record := frame version uvarint | type uvarint | version uvarint | fields
      2 topic          name, id                                  9 topic removed    id
      4 setting        resource type int8, resource, name, value or null
      23, 24, 25       a transaction begins, ends, is aborted: its records count only once it has ended

Strings are compact: length plus one as a uvarint (0 is null), then UTF-8. Other types are skipped.
Formats: KIP-631, KIP-630, KIP-868.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from riverlog.cluster.metadata_image import Resource, ResourceType
from riverlog.cluster.names import METADATA_TOPIC
from riverlog.errors import RemoteProtocolError, StorageError
from riverlog.protocol.batches import split_batches
from riverlog.protocol.records import read_records
from riverlog.protocol.varint import read_uvarint

_TOPIC, _SETTING, _TOPIC_REMOVED = 2, 4, 9
_TRANSACTION_BEGINS, _TRANSACTION_ENDS, _TRANSACTION_ABORTED = 23, 24, 25
_ADOPTED_TYPES = (ResourceType.TOPIC, ResourceType.BROKER)

Overrides = dict[Resource, dict[str, str]]
"""Settings by topic or broker."""


class SettingsReplay:
    """The settings that a metadata log leads to, record by record."""

    def __init__(self) -> None:
        self.overrides: Overrides = {}
        self._names_by_id: dict[bytes, str] = {}
        self._transaction: list[bytes] | None = None

    def replay(self, record: bytes) -> None:
        """Take in a record. Raises RemoteProtocolError for one that is cut short."""
        try:
            kind, _ = _record_type(record)
            if kind == _TRANSACTION_BEGINS:
                self._transaction = []
            elif kind == _TRANSACTION_ABORTED:
                self._transaction = None
            elif kind == _TRANSACTION_ENDS:
                ended, self._transaction = self._transaction or [], None
                for held in ended:
                    self._apply(held)
            elif self._transaction is not None:
                self._transaction.append(record)
            else:
                self._apply(record)
        except (IndexError, UnicodeDecodeError) as error:
            raise RemoteProtocolError("a metadata record is cut short") from error

    def _apply(self, record: bytes) -> None:
        kind, position = _record_type(record)
        if kind == _TOPIC:
            name, position = _read_string(record, position)
            self._names_by_id[record[position : position + 16]] = name or ""
        elif kind == _TOPIC_REMOVED:
            removed = self._names_by_id.pop(record[position : position + 16], "")
            self.overrides.pop(Resource(ResourceType.TOPIC, removed), None)
        elif kind == _SETTING:
            self._apply_setting(record, position)

    def _apply_setting(self, record: bytes, position: int) -> None:
        resource_type = record[position]
        resource_name, position = _read_string(record, position + 1)
        name, position = _read_string(record, position)
        value, position = _read_string(record, position)
        if resource_type not in _ADOPTED_TYPES or name is None:
            return
        settings = self.overrides.setdefault(Resource(ResourceType(resource_type), resource_name or ""), {})
        if value is None:
            settings.pop(name, None)
        else:
            settings[name] = value


def read_kafka_overrides(log_directories: Iterable[str]) -> Overrides:
    """Read the settings of topics and brokers from the metadata log in any of these directories.

    Empty where there is none. Raises StorageError for one that cannot be read.
    """
    for directory in log_directories:
        path = os.path.join(directory, f"{METADATA_TOPIC}-0")
        if os.path.isdir(path):
            return _read_directory(path)
    return {}


def _read_directory(path: str) -> Overrides:
    replay = SettingsReplay()
    try:
        files = sorted(os.listdir(path))
        checkpoints = [name for name in files if name.endswith(".checkpoint")]
        snapshot_offset = int(checkpoints[-1].partition("-")[0]) if checkpoints else 0
        sources = [(name, 0) for name in checkpoints[-1:]]
        sources += [(name, snapshot_offset) for name in files if name.endswith(".log")]
        for name, from_offset in sources:
            for record in _records(_read_file(path, name), from_offset):
                replay.replay(record)
    except (OSError, ValueError, RemoteProtocolError) as error:
        raise StorageError(f"Kafka's metadata log cannot be read: {error}", path=path) from error
    return {resource: settings for resource, settings in replay.overrides.items() if settings}


def _records(content: bytes, from_offset: int) -> Iterator[bytes]:
    """Give the records of whole batches from an offset on; a torn end is what a crash leaves."""
    for position, header in split_batches(content, 0, len(content)).batches:
        if not header.is_control and header.last_offset >= from_offset:
            for record in read_records(content, position):
                if record.offset >= from_offset and record.value is not None:
                    yield bytes(record.value)


def _record_type(record: bytes) -> tuple[int, int]:
    """Read a record's type; returns it and where the fields begin."""
    _, position = read_uvarint(record, 0)
    kind, position = read_uvarint(record, position)
    _, position = read_uvarint(record, position)
    return kind, position


def _read_string(record: bytes, position: int) -> tuple[str | None, int]:
    length, position = read_uvarint(record, position)
    if length == 0:
        return None, position
    end = position + length - 1
    if end > len(record):
        raise IndexError(end)
    return record[position:end].decode(), end


def _read_file(directory: str, name: str) -> bytes:
    with open(os.path.join(directory, name), "rb") as file:
        return file.read()
