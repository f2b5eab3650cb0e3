"""Requests about the metadata log, of somebody who does everything right unless told otherwise."""

from __future__ import annotations

from typing import Any

from barnabas.broker.metadata_log import METADATA_TOPIC_ID
from barnabas.protocol.messages import add_raft_voter as adding
from barnabas.protocol.messages import begin_quorum_epoch as beginning
from barnabas.protocol.messages import end_quorum_epoch as ending
from barnabas.protocol.messages import fetch, fetch_snapshot, vote
from barnabas.protocol.messages import remove_raft_voter as removing
from barnabas.protocol.messages import update_raft_voter as updating
from barnabas.protocol.schema import Uuid
from tests.broker.controller_door.door import METADATA

STRANGER = 77
STRANGERS_DIRECTORY = Uuid([5] * 16)
LONGEST = 2**63 - 1


def fetch_of(
    offset: int,
    last_epoch: int,
    *,
    epoch: int,
    cluster_id: str | None = None,
    wait_ms: int = 0,
    topic_id: Uuid = METADATA_TOPIC_ID,
    number: int = 0,
    times: int = 1,
    replica: int = STRANGER,
    directory: Uuid = STRANGERS_DIRECTORY,
    high_watermark: int = LONGEST,
    max_bytes: int = 10_000_000,
) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=number,
        current_leader_epoch=epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        partition_max_bytes=0,
        replica_directory_id=directory,
        high_watermark=high_watermark,
    )
    return fetch.FetchRequest(
        cluster_id=cluster_id,
        replica_id=replica,
        replica_state=fetch.ReplicaState(replica_id=replica, replica_epoch=-1),
        max_wait_ms=wait_ms,
        min_bytes=0,
        max_bytes=max_bytes,
        topics=[fetch.FetchTopic(topic=METADATA, topic_id=topic_id, partitions=[partition] * times)],
    )


def snapshot_of(
    end_offset: int,
    snapshot_epoch: int,
    *,
    epoch: int,
    position: int = 0,
    max_bytes: int = 1 << 20,
    cluster_id: str | None = None,
    topic: str = METADATA,
    number: int = 0,
) -> fetch_snapshot.FetchSnapshotRequest:
    partition = fetch_snapshot.PartitionSnapshot(
        partition=number,
        current_leader_epoch=epoch,
        snapshot_id=fetch_snapshot.SnapshotId(end_offset, snapshot_epoch),
        position=position,
    )
    return fetch_snapshot.FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=STRANGER,
        max_bytes=max_bytes,
        topics=[fetch_snapshot.TopicSnapshot(name=topic, partitions=[partition])],
    )


def vote_for(
    epoch: int,
    *,
    candidate: int = STRANGER,
    last_epoch: int = 0,
    last_offset: int = 0,
    pre_vote: bool = False,
    cluster_id: str | None = None,
    voter: int = -1,
    voters_directory: Uuid = Uuid.ZERO,
    topic: str = METADATA,
    number: int = 0,
    times: int = 1,
) -> vote.VoteRequest:
    partition = vote.PartitionData(
        partition_index=number,
        replica_epoch=epoch,
        replica_id=candidate,
        replica_directory_id=STRANGERS_DIRECTORY,
        voter_directory_id=voters_directory,
        last_offset_epoch=last_epoch,
        last_offset=last_offset,
        pre_vote=pre_vote,
    )
    topics = [vote.TopicData(topic_name=topic, partitions=[partition] * times)]
    return vote.VoteRequest(cluster_id=cluster_id, voter_id=voter, topics=topics)


def epoch_begins(
    epoch: int,
    leader: int,
    *,
    cluster_id: str | None = None,
    voter: int = -1,
    voters_directory: Uuid = Uuid.ZERO,
    topic: str = METADATA,
    number: int = 0,
) -> beginning.BeginQuorumEpochRequest:
    partition = beginning.PartitionData(
        partition_index=number, voter_directory_id=voters_directory, leader_id=leader, leader_epoch=epoch
    )
    return beginning.BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=voter,
        topics=[beginning.TopicData(topic_name=topic, partitions=[partition])],
        leader_endpoints=[beginning.LeaderEndpoint(name="CONTROLLER", host="localhost", port=1)],
    )


def epoch_ends(
    epoch: int, leader: int, *, cluster_id: str | None = None, topic: str = METADATA, number: int = 0
) -> ending.EndQuorumEpochRequest:
    partition = ending.PartitionData(partition_index=number, leader_id=leader, leader_epoch=epoch)
    return ending.EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[ending.TopicData(topic_name=topic, partitions=[partition])],
        leader_endpoints=[ending.LeaderEndpoint(name="CONTROLLER", host="localhost", port=1)],
    )


def voter_added(
    voter: int, directory: Uuid, *listeners: str, cluster_id: str | None = None
) -> adding.AddRaftVoterRequest:
    return adding.AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=1_000,
        voter_id=voter,
        voter_directory_id=directory,
        listeners=[adding.Listener(name=name, host="localhost", port=1) for name in listeners],
    )


def voter_removed(voter: int, directory: Uuid, *, cluster_id: str | None = None) -> removing.RemoveRaftVoterRequest:
    return removing.RemoveRaftVoterRequest(cluster_id=cluster_id, voter_id=voter, voter_directory_id=directory)


def voter_updated(
    epoch: int, voter: int, directory: Uuid, *listeners: str, levels: tuple[int, int] = (0, 1), **fields: Any
) -> updating.UpdateRaftVoterRequest:
    return updating.UpdateRaftVoterRequest(
        current_leader_epoch=epoch,
        voter_id=voter,
        voter_directory_id=directory,
        listeners=[updating.Listener(name=name, host="localhost", port=1) for name in listeners],
        kraft_version_feature=updating.KRaftVersionFeature(*levels),
        **{"cluster_id": None, **fields},
    )
