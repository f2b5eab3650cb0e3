"""What `kafka-storage format` leaves in a directory: the features with which the cluster begins, and who votes.

The records of bootstrap.checkpoint are not read into the image. The first controller writes them to the log, with what
controller/activation.py adds, and from then on they are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from barnabas.coordination.cluster.features import KRAFT_VERSION, default_features
from barnabas.coordination.cluster.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION, MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import decode_snapshot, encode_snapshot
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.records.cluster_metadata import FeatureLevelRecord
from barnabas.protocol.records.control import Endpoint, KRaftVersionFeature, VotersRecord, VotersRecordVoter
from barnabas.protocol.schema import Uuid

__all__ = [
    "BOOTSTRAP_CHECKPOINT",
    "bootstrap_records",
    "decode_bootstrap_checkpoint",
    "encode_bootstrap_checkpoint",
    "encode_first_snapshot",
    "standalone_voters",
]

BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"


def bootstrap_records(
    version: MetadataVersion = LATEST_METADATA_VERSION, features: Mapping[str, int] | None = None
) -> list[MetadataRecord]:
    """metadata.version first, then the features by name. `features` takes the place of the version's defaults where
    it names one; level 0 is not written."""
    levels = {**default_features(version), **(features or {})}
    named = [(METADATA_VERSION, int(version))]
    named += [(name, levels[name]) for name in sorted(levels) if name not in (METADATA_VERSION, KRAFT_VERSION)]
    return [MetadataRecord(FeatureLevelRecord(name=name, feature_level=level)) for name, level in named if level > 0]


def encode_bootstrap_checkpoint(records: Iterable[MetadataRecord], *, now_ms: int) -> bytes:
    return encode_snapshot(records, epoch=0, last_log_timestamp_ms=0, now_ms=now_ms)


def decode_bootstrap_checkpoint(data: bytes) -> Sequence[MetadataRecord]:
    records = decode_snapshot(data).records
    if not any(
        isinstance(record.message, FeatureLevelRecord) and record.message.name == METADATA_VERSION for record in records
    ):
        raise MalformedFrame(f"{BOOTSTRAP_CHECKPOINT} says nothing of {METADATA_VERSION}: format the directory again")
    return records


def standalone_voters(voter_id: int, directory_id: Uuid, listener: str, host: str, port: int) -> VotersRecord:
    """A quorum of one, as `format --standalone` sets it up."""
    voter = VotersRecordVoter(
        voter_id=voter_id,
        voter_directory_id=directory_id,
        endpoints=[Endpoint(name=listener, host=host, port=port)],
        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    )
    return VotersRecord(version=0, voters=[voter])


def encode_first_snapshot(voters: VotersRecord, *, now_ms: int) -> bytes:
    """The file of BOOTSTRAP_SNAPSHOT in the metadata log's directory."""
    return encode_snapshot((), epoch=0, last_log_timestamp_ms=now_ms, now_ms=now_ms, kraft_version=1, voters=voters)
