"""One sentence for each configuration of a topic, as DescribeConfigs answers it."""

from __future__ import annotations

from barnabas.storage.topic_config import TOPIC_CONFIGS

__all__ = ["TOPIC_DOCUMENTATION"]

TOPIC_DOCUMENTATION = {
    "cleanup.policy": "What happens to old records: delete drops them, compact keeps the last of each key, or both.",
    "compression.gzip.level": "How hard gzip tries, from 1 to 9; -1 leaves it to gzip.",
    "compression.lz4.level": "How hard lz4 tries, from 1 to 17.",
    "compression.type": "How records are stored: producer leaves them as they came.",
    "compression.zstd.level": "How hard zstd tries, from -131072 to 22.",
    "delete.retention.ms": "How long a compacted topic remembers that a key was deleted.",
    "file.delete.delay.ms": "How long the files of a removed segment stay on disk.",
    "flush.messages": "How many records may be unwritten before they are forced to disk.",
    "flush.ms": "How long records may be unwritten before they are forced to disk.",
    "follower.replication.throttled.replicas": "PARTITION:BROKER of followers that fetch slowly, or * for all.",
    "index.interval.bytes": "How many bytes lie between two entries of an index.",
    "internal.segment.bytes": "A segment size that may be too small; for tests.",
    "leader.replication.throttled.replicas": "PARTITION:BROKER of leaders that send slowly, or * for all.",
    "local.retention.bytes": "How many bytes stay here of a topic that is stored elsewhere too; -2: retention.bytes.",
    "local.retention.ms": "How long records stay here of a topic that is stored elsewhere too; -2: retention.ms.",
    "max.compaction.lag.ms": "How long a record may wait to be compacted.",
    "max.message.bytes": "The most bytes of one batch of records.",
    "message.timestamp.after.max.ms": "How far a record's time may lie ahead of the broker's.",
    "message.timestamp.before.max.ms": "How far a record's time may lie behind the broker's.",
    "message.timestamp.type": "Whose time a record has: CreateTime its producer's, LogAppendTime the broker's.",
    "min.cleanable.dirty.ratio": "How much of a log must be new before it is compacted.",
    "min.compaction.lag.ms": "How long a record stays as it is before it may be compacted.",
    "min.insync.replicas": "How many replicas must have a record before acks=all is answered.",
    "preallocate": "Whether the file of a new segment has its full size at once.",
    "remote.log.copy.disable": "Whether a topic that is also stored elsewhere is copied there no more.",
    "remote.log.delete.on.disable": "Whether what is stored elsewhere is deleted when that ends.",
    "remote.storage.enable": "Whether a topic is also stored elsewhere.",
    "retention.bytes": "How many bytes each partition keeps; -1 is no limit.",
    "retention.ms": "How long records are kept; -1 is forever.",
    "segment.bytes": "The size at which a segment is closed.",
    "segment.index.bytes": "The most bytes of an index.",
    "segment.jitter.ms": "How much earlier segments close by chance, so that not all do at once.",
    "segment.ms": "The age at which a segment is closed.",
    "unclean.leader.election.enable": "Whether a replica may lead that has not all records, rather than none.",
}

assert TOPIC_DOCUMENTATION.keys() == TOPIC_CONFIGS.keys()
