"""One server.properties, read by Kafka and by Barnabas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.broker.configuration.barnabas_defaults import BARNABAS_DEFAULTS
from barnabas.broker.configuration.key import as_text
from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.configuration.values import ConfigurationError
from tests.broker.configuration.configuration_oracle import ConfigurationOracle

__all__ = ["compare", "compare_values"]


def compare(kafka: ConfigurationOracle, given: dict[str, str]) -> bool:
    theirs = kafka.parse(given)
    try:
        ours = NodeConfig.load(given)
    except ConfigurationError as error:
        assert isinstance(theirs, str), (given, error.problems)
        return False
    assert not isinstance(theirs, str), (given, theirs)
    compare_values(ours, theirs, given)
    return True


def compare_values(ours: NodeConfig, theirs: dict[str, Any], given: dict[str, str]) -> None:
    wanted = theirs["values"]
    values = {name: as_text(ours.values[name]) for name in wanted}
    differing = {name: (values[name], wanted[name]) for name in wanted if values[name] != wanted[name]}
    differing = {name: both for name, both in differing.items() if name in given or name not in BARNABAS_DEFAULTS}
    assert not differing, (given, differing)
    compare_derived(ours, theirs)


def compare_derived(ours: NodeConfig, theirs: dict[str, Any]) -> None:
    def lines(endpoints: Iterable[Endpoint]) -> list[str]:
        return [
            f"{one.listener} {one.protocol} {'null' if one.host is None else one.host} {one.port}" for one in endpoints
        ]

    assert lines(ours.listeners) == theirs["listeners"]
    assert lines(ours.controller_listeners) == theirs["controller_listeners"]
    assert lines(ours.advertised_listeners) == theirs["advertised"]
    assert lines(ours.advertised_controller_listeners) == theirs["advertised_controllers"]
    assert f"{ours.inter_broker_listener_name} {ours.inter_broker_protocol}" == theirs["inter_broker"]
    assert list(ours.log_dirs) == theirs["log_dirs"]
    assert ours.metadata_log_dir == theirs["metadata_log_dir"]
    topics = ours.topic_defaults
    assert topics.retention_ms == theirs["retention_ms"]
    assert topics.segment_ms == theirs["roll_ms"]
    assert topics.segment_jitter_ms == theirs["roll_jitter_ms"]
    assert topics.flush_ms == theirs["flush_ms"]
