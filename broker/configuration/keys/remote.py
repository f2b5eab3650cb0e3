"""Storage elsewhere, which Barnabas has none of: all of it is known, and nothing of it has an effect."""

from __future__ import annotations

from barnabas.broker.configuration.key import CLUSTER_WIDE, LONG_MAX, LOW, MEDIUM, READ_ONLY, Key
from barnabas.broker.configuration.rules import NOT_EMPTY, fraction
from barnabas.storage.topic_config_types import ANY, BOOLEAN, DOUBLE, INT, LONG, STRING, at_least

__all__ = ["WITHOUT_EFFECT"]

# fmt: off

WITHOUT_EFFECT = (
    Key("remote.fetch.max.wait.ms", INT, 500, at_least(1), MEDIUM, CLUSTER_WIDE),
    Key("remote.list.offsets.request.timeout.ms", LONG, 30_000, at_least(1), MEDIUM, CLUSTER_WIDE),
    Key("remote.log.index.file.cache.total.size.bytes", LONG, 1_073_741_824, at_least(1), LOW, CLUSTER_WIDE),
    Key("remote.log.index.file.cache.ttl.ms", LONG, 900_000, at_least(-1), LOW, READ_ONLY, internal=True),
    Key("remote.log.manager.copier.thread.pool.size", INT, 10, at_least(1), MEDIUM, CLUSTER_WIDE),
    Key("remote.log.manager.copy.max.bytes.per.second", LONG, LONG_MAX, at_least(1), MEDIUM, CLUSTER_WIDE),
    Key("remote.log.manager.copy.quota.window.num", INT, 11, at_least(1), MEDIUM, READ_ONLY),
    Key("remote.log.manager.copy.quota.window.size.seconds", INT, 1, at_least(1), MEDIUM, READ_ONLY),
    Key("remote.log.manager.expiration.thread.pool.size", INT, 10, at_least(1), MEDIUM, CLUSTER_WIDE),
    Key("remote.log.manager.fetch.max.bytes.per.second", LONG, LONG_MAX, at_least(1), MEDIUM, CLUSTER_WIDE),
    Key("remote.log.manager.fetch.quota.window.num", INT, 11, at_least(1), MEDIUM, READ_ONLY),
    Key("remote.log.manager.fetch.quota.window.size.seconds", INT, 1, at_least(1), MEDIUM, READ_ONLY),
    Key("remote.log.manager.follower.thread.pool.size", INT, 2, at_least(1), MEDIUM, CLUSTER_WIDE),
    Key("remote.log.manager.task.interval.ms", LONG, 30_000, at_least(1), LOW, READ_ONLY),
    Key("remote.log.manager.task.retry.backoff.max.ms", LONG, 30_000, at_least(1), LOW, READ_ONLY, internal=True),
    Key("remote.log.manager.task.retry.backoff.ms", LONG, 500, at_least(1), LOW, READ_ONLY, internal=True),
    Key("remote.log.manager.task.retry.jitter", DOUBLE, 0.2, fraction(0, 0.5), LOW, READ_ONLY, internal=True),
    Key("remote.log.manager.thread.pool.size", INT, 2, at_least(1), MEDIUM, READ_ONLY),
    Key("remote.log.metadata.custom.metadata.max.bytes", INT, 128, at_least(0), LOW, READ_ONLY),
    Key("remote.log.metadata.manager.class.name",
        STRING, "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager", NOT_EMPTY,
        MEDIUM, READ_ONLY),
    Key("remote.log.metadata.manager.class.path", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("remote.log.metadata.manager.impl.prefix", STRING, "rlmm.config.", NOT_EMPTY, MEDIUM, READ_ONLY),
    Key("remote.log.metadata.manager.listener.name", STRING, None, NOT_EMPTY, MEDIUM, READ_ONLY),
    Key("remote.log.reader.max.pending.tasks", INT, 100, at_least(1), MEDIUM, READ_ONLY),
    Key("remote.log.reader.threads", INT, 10, at_least(1), MEDIUM, CLUSTER_WIDE),
    Key("remote.log.storage.manager.class.name", STRING, None, NOT_EMPTY, MEDIUM, READ_ONLY),
    Key("remote.log.storage.manager.class.path", STRING, None, ANY, MEDIUM, READ_ONLY),
    Key("remote.log.storage.manager.impl.prefix", STRING, "rsm.config.", NOT_EMPTY, MEDIUM, READ_ONLY),
    Key("remote.log.storage.system.enable", BOOLEAN, False, ANY, MEDIUM, READ_ONLY),
)
