"""AllocateProducerIds (0): a broker gets a block of numbers that no other producer of the cluster ever had."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from barnabas.protocol.records.cluster_metadata import ProducerIdsRecord

__all__ = ["BLOCK_SIZE", "allocate_producer_ids"]

BLOCK_SIZE = 1000
_HIGHEST = 2**63 - 1


def allocate_producer_ids(
    controller: Controller, request: AllocateProducerIdsRequest
) -> Outcome[MetadataRecord, AllocateProducerIdsResponse]:
    try:
        controller.registered_broker(request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Outcome(reply=AllocateProducerIdsResponse(error_code=error.code))
    first = max(controller.image.next_producer_id, 0)
    if first > _HIGHEST - BLOCK_SIZE:
        return Outcome(reply=AllocateProducerIdsResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR))
    record = ProducerIdsRecord(
        broker_id=request.broker_id, broker_epoch=request.broker_epoch, next_producer_id=first + BLOCK_SIZE
    )
    records: Sequence[MetadataRecord] = [MetadataRecord(record)]
    return Outcome(records, AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE))
