"""What DescribeConfigs answers, and `riverlog config show`: every setting with its value and its story.

Values are text as people write it. The `synonyms` of an entry are its value's whole ancestry, the one in
force first (KIP-226):

    retention.ms = 60000   <-  retention.ms (topic), log.retention.ms (broker, dynamic),
                               log.retention.hours (file), log.retention.hours (default)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from riverlog.config.client_metrics import DEFAULTS as CLIENT_METRICS_DEFAULTS
from riverlog.config.client_metrics import DOCUMENTATION as CLIENT_METRICS_DOCUMENTATION
from riverlog.config.client_metrics import KINDS as CLIENT_METRICS_KINDS
from riverlog.config.effective import BrokerConfig, Source
from riverlog.config.group import GROUP_NAMES
from riverlog.config.kinds import ConfigType
from riverlog.config.known import KEPT_WHEN_ALTERED, why_without_effect
from riverlog.config.setting import Dynamic
from riverlog.config.table import BROKER_NAMES, ROWS, Row

DEFAULT_PLACE = "default"


class Synonym(NamedTuple):
    """A value that was given for a setting, under some name, and where."""

    name: str
    value: str | None
    source: Source
    where: str


class ConfigEntry(NamedTuple):
    """One line of an answer."""

    name: str
    value: str | None
    source: Source
    is_read_only: bool
    is_sensitive: bool
    type: ConfigType
    synonyms: tuple[Synonym, ...]
    documentation: str
    where: str
    """For people: the file and line, the variable or the flag that the value came from."""

    @property
    def is_default(self) -> bool:
        """Tell whether nobody has set it."""
        return self.source is Source.DEFAULT


def describe_broker(config: BrokerConfig) -> list[ConfigEntry]:
    """List every setting of a broker under every name it has, in the order of the table."""
    return [_broker_entry(config, row, name) for row in ROWS for name in row.names]


def describe_kept(overrides: Mapping[str, str], source: Source) -> list[ConfigEntry]:
    """List the altered settings that are kept and mean nothing here."""
    entries = []
    for name, text in overrides.items():
        if name in KEPT_WHEN_ALTERED:
            told = Synonym(name, text, source, "altered, without effect")
            documentation = f"Kept, without effect: {why_without_effect(name)}."
            entries.append(
                ConfigEntry(
                    name=name,
                    value=text,
                    source=source,
                    is_read_only=False,
                    is_sensitive=False,
                    type=ConfigType.STRING,
                    synonyms=(told,),
                    documentation=documentation,
                    where=told.where,
                )
            )
    return entries


def describe_cluster(overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """List what was altered for all brokers at once: the answer about the broker named ''."""
    entries = describe_kept(overrides, Source.DYNAMIC_CLUSTER)
    for name, text in overrides.items():
        if name in KEPT_WHEN_ALTERED:
            continue
        row = BROKER_NAMES[name]
        told = Synonym(
            name, row.kind_of(name).canonical(text), Source.DYNAMIC_CLUSTER, "altered for the cluster"
        )
        entries.append(_entry(row, name, row.kind_of(name).type, (told,), is_read_only=False))
    return entries


def describe_topic(config: BrokerConfig, overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """List every setting of a topic with these overrides on a broker with this configuration."""
    return [_topic_entry(config, row, overrides) for row in ROWS if row.setting.topic_name]


def describe_group(config: BrokerConfig, overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """List the settings of a group with these overrides: its own, and the broker's for all groups."""
    entries = []
    for name in GROUP_NAMES.values():
        row = BROKER_NAMES[name.default]
        story = _story(config, row)
        if name.name in overrides:
            text = name.kind.canonical(overrides[name.name])
            story = (Synonym(name.name, text, Source.GROUP, "the group"), *story)
        entries.append(_entry(row, name.name, name.kind.type, story, is_read_only=False))
    return entries


def describe_client_metrics(overrides: Mapping[str, str]) -> list[ConfigEntry]:
    """List the settings of a subscription to clients' metrics with these overrides."""
    entries = []
    for name, kind in CLIENT_METRICS_KINDS.items():
        default = Synonym(name, CLIENT_METRICS_DEFAULTS[name], Source.DEFAULT, DEFAULT_PLACE)
        given = Synonym(name, overrides.get(name), Source.CLIENT_METRICS, "the subscription")
        story = (given, default) if name in overrides else (default,)
        entries.append(
            ConfigEntry(
                name=name,
                value=story[0].value,
                source=story[0].source,
                is_read_only=False,
                is_sensitive=False,
                type=kind.type,
                synonyms=story,
                documentation=CLIENT_METRICS_DOCUMENTATION[name],
                where=story[0].where,
            )
        )
    return entries


def _broker_entry(config: BrokerConfig, row: Row, name: str) -> ConfigEntry:
    story = _story(config, row)
    if not all(alternative.is_same for alternative in row.setting.alternatives):
        coarser = row.names[row.names.index(name) :]
        story = tuple(synonym for synonym in story if synonym.name in coarser)
        if story and story[0].name != name:  # this name is silent, and a coarser one decides
            story = ()
    is_read_only = row.dynamic_of(name) is Dynamic.READ_ONLY
    return _entry(row, name, row.kind_of(name).type, story, is_read_only=is_read_only)


def _topic_entry(config: BrokerConfig, row: Row, overrides: Mapping[str, str]) -> ConfigEntry:
    name, kind = row.setting.topic_name, row.setting.topic_kind
    assert name, "only settings that a topic may override"
    story = _story(config, row)
    if name in overrides:
        story = (Synonym(name, kind.canonical(overrides[name]), Source.TOPIC, "the topic"), *story)
    entry = _entry(row, name, kind.type, story, is_read_only=False)
    if story and story[0].name in (name, row.setting.name):
        return entry
    # Nothing stands behind it, or a coarser name in its own unit: say the value as the topic would.
    inherited = getattr(config.settings.topic_defaults, row.attribute)
    return entry._replace(value=kind.format(inherited))


def _entry(
    row: Row, name: str, value_type: ConfigType, story: tuple[Synonym, ...], *, is_read_only: bool
) -> ConfigEntry:
    in_force = story[0] if story else Synonym(name, None, Source.DEFAULT, DEFAULT_PLACE)
    return ConfigEntry(
        name=name,
        value=in_force.value,
        source=in_force.source,
        is_read_only=is_read_only,
        is_sensitive=False,  # no setting holds a secret so far
        type=value_type,
        synonyms=story,
        documentation=row.setting.doc,
        where=in_force.where,
    )


def _story(config: BrokerConfig, row: Row) -> tuple[Synonym, ...]:
    """Everything said about a setting at the broker, the value in force first, its defaults last."""
    given = (
        Synonym(name, row.kind_of(name).canonical(text), source, where)
        for name, text, source, where in config.chain(row)
    )
    defaults = ((name, row.default_text(name)) for name in row.names)
    untold = (
        Synonym(name, text, Source.DEFAULT, DEFAULT_PLACE) for name, text in defaults if text is not None
    )
    return (*given, *untold)
