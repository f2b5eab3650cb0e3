"""Records of `__remote_log_metadata` in the words of Kafka's tool, which are those of its classes for themselves."""

from __future__ import annotations

from barnabas.protocol.log_records import decode_remote_log_record
from barnabas.protocol.records import remote_log_metadata as records

__all__ = ["describe"]

_SEGMENT_STATES = ("COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED")
_PARTITION_STATES = ("DELETE_PARTITION_MARKED", "DELETE_PARTITION_STARTED", "DELETE_PARTITION_FINISHED")


def describe(data: bytes) -> str:
    """MalformedFrame or UnknownRecord where it is none of these; IndexError for a state that nobody knows."""
    message, _ = decode_remote_log_record(data)
    match message:
        case records.RemoteLogSegmentMetadataRecord():
            return (
                f"RemoteLogSegmentMetadata{{remoteLogSegmentId={_segment(message.remote_log_segment_id)}, "
                f"startOffset={message.start_offset}, endOffset={message.end_offset}, brokerId={message.broker_id}, "
                f"maxTimestampMs={message.max_timestamp_ms}, eventTimestampMs={message.event_timestamp_ms}, "
                f"segmentLeaderEpochs={_epochs(message.segment_leader_epochs)}, "
                f"segmentSizeInBytes={message.segment_size_in_bytes}, "
                f"customMetadata={_custom(message.custom_metadata)}, "
                f"state={_SEGMENT_STATES[message.remote_log_segment_state]}, "
                f"txnIdxEmpty={_truth(message.txn_index_empty)}}}"
            )
        case records.RemoteLogSegmentMetadataUpdateRecord():
            return (
                f"RemoteLogSegmentMetadataUpdate{{remoteLogSegmentId={_segment(message.remote_log_segment_id)}, "
                f"customMetadata={_custom(message.custom_metadata)}, "
                f"state={_SEGMENT_STATES[message.remote_log_segment_state]}, "
                f"eventTimestampMs={message.event_timestamp_ms}, brokerId={message.broker_id}}}"
            )
        case records.RemotePartitionDeleteMetadataRecord():
            return (
                f"RemotePartitionDeleteMetadata{{topicPartition={_partition(message.topic_id_partition)}, "
                f"state={_PARTITION_STATES[message.remote_partition_delete_state]}, "
                f"eventTimestampMs={message.event_timestamp_ms}, brokerId={message.broker_id}}}"
            )
        case records.RemoteLogSegmentMetadataSnapshotRecord():
            return (
                f"RemoteLogSegmentMetadataSnapshot{{segmentId={message.segment_id}, "
                f"startOffset={message.start_offset}, endOffset={message.end_offset}, "
                f"maxTimestampMs={message.max_timestamp_ms}, "
                f"segmentLeaderEpochs={_epochs(message.segment_leader_epochs)}, "
                f"segmentSizeInBytes={message.segment_size_in_bytes}, "
                f"customMetadata={_custom(message.custom_metadata)}, "
                f"state={_SEGMENT_STATES[message.remote_log_segment_state]}, "
                f"txnIdxEmpty={_truth(message.txn_index_empty)}}}"
            )
    return repr(message)


def _segment(entry: records.RemoteLogSegmentIdEntry) -> str:
    return f"RemoteLogSegmentId{{topicIdPartition={_partition(entry.topic_id_partition)}, id={entry.id}}}"


def _partition(entry: records.TopicIdPartitionEntry) -> str:
    return f"{entry.id}:{entry.name}-{entry.partition}"


def _epochs(entries: list[records.SegmentLeaderEpochEntry]) -> str:
    by_epoch = {entry.leader_epoch: entry.offset for entry in entries}
    return "{" + ", ".join(f"{epoch}={by_epoch[epoch]}" for epoch in sorted(by_epoch)) + "}"


def _custom(data: bytes | None) -> str:
    return "Optional.empty" if data is None else f"Optional[CustomMetadata{{{len(data)} bytes}}]"


def _truth(value: bool) -> str:
    return "true" if value else "false"
