"""Metrics and telemetry of clients."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import CLUSTER_WIDE, LOW, READ_ONLY, Key, key
from barnabas.broker.configuration.rules import DISTINCT
from barnabas.storage.topic_config_types import ANY, INT, LIST, LONG, STRING, at_least

__all__ = ["WITHOUT_EFFECT", "MetricsKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class MetricsKeys:
    """Each is one attribute of the node's configuration."""

    metrics_num_samples: int = key(INT, 2, at_least(1), LOW, READ_ONLY,
        "How many samples a rate is measured over.")
    metrics_sample_window_ms: int = key(LONG, 30_000, at_least(1), LOW, READ_ONLY,
        "The length of one sample of a rate.")
    telemetry_max_bytes: int = key(INT, 1_048_576, at_least(1), LOW, READ_ONLY,
        "The most bytes of one push of a client's metrics.")


WITHOUT_EFFECT = (
    Key("metrics.recording.level", STRING, "INFO", ANY, LOW, READ_ONLY),
    Key("metric.reporters", LIST, ("org.apache.kafka.common.metrics.JmxReporter",), DISTINCT, LOW, CLUSTER_WIDE),
    Key("kafka.metrics.reporters", LIST, (), DISTINCT, LOW, READ_ONLY),
    Key("kafka.metrics.polling.interval.secs", INT, 10, at_least(1), LOW, READ_ONLY),
)
