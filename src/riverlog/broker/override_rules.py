"""Which settings may be altered while the broker runs: the cluster asks, the config room knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from riverlog.cluster import OverrideRules, Resource, ResourceType
from riverlog.config import Source, alter_broker, alter_client_metrics, alter_group, alter_topic
from riverlog.errors import RequestRefused
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.cluster import Edit
    from riverlog.config import BrokerConfig


_WHY_NOT = {
    ResourceType.BROKER_LOGGER: "loggers keep the levels that the broker was started with",
}


class ConfigOverrideRules(OverrideRules):
    """The rules of all that has settings, on top of what the broker is configured with at the moment."""

    def __init__(self, current: Callable[[], BrokerConfig]) -> None:
        self._current = current

    def alter(
        self, resource: Resource, overrides: Mapping[str, str], edits: Sequence[Edit]
    ) -> dict[str, str]:
        """Work out a resource's settings after these edits, or raise ConfigError or RequestRefused."""
        config = self._current()
        if resource.type is ResourceType.TOPIC:
            return alter_topic(config.settings.topic_defaults, overrides, edits)
        if resource.type is ResourceType.BROKER:
            is_for_all = not resource.name
            return alter_broker(
                config,
                overrides if is_for_all else _altered(config, Source.DYNAMIC_CLUSTER),
                _altered(config, Source.DYNAMIC_BROKER) if is_for_all else overrides,
                edits,
                for_cluster=is_for_all,
            )
        if resource.type is ResourceType.GROUP:
            return alter_group(config.settings.consumer_groups, overrides, edits)
        if resource.type is ResourceType.CLIENT_METRICS:
            return alter_client_metrics(overrides, edits)
        raise RequestRefused(ErrorCode.INVALID_REQUEST, _WHY_NOT[resource.type])


def _altered(config: BrokerConfig, source: Source) -> dict[str, str]:
    """Find what was altered while the broker ran, for all brokers or for this one."""
    return {
        name: given.text
        for layer in config.dynamic_layers
        for name, given in layer.items()
        if given.source is source
    }
