"""The files beside a segment whose batches are synced: whether they can be trusted, and how they are made anew.

recovery.py cuts a segment off at the first bytes that are no batch, because what follows was never acknowledged. Here
it was. What is damaged stays where it is, whoever asks for it is told, and the rest can be read. (Kafka cuts here too.)
"""

from __future__ import annotations

from barnabas.protocol.errors import KafkaError, MalformedFrame
from barnabas.storage.index import CorruptIndex
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log import Log
from barnabas.storage.producer_state import AppendOrigin, ProducerState
from barnabas.storage.segment import Segment
from barnabas.storage.segment_reading import CorruptSegment
from barnabas.storage.transaction_index import AbortedTransaction, CorruptTransactionIndex

__all__ = ["finish_sealing", "rebuild_indexes", "why_not_trusted"]


def why_not_trusted(log: Log, segment: Segment, names: list[str]) -> str | None:
    """What is wrong with which index, if anything. Kafka too looks only whether they are there: after a crash they are
    built anew, and otherwise trusted."""
    for index in (segment.offset_index, segment.time_index):
        if index.path.name not in names:
            if segment.size:
                return f"{index.path} is missing"
        elif (size := log.disk.size(index.path)) % index.row.size:
            return f"{index.path} ends within a row, at byte {size}"
    transactions = segment.transaction_index
    try:
        transactions.check()
        wrong = next((one for one in transactions if not _aborts(log, segment, one)), None)
    except CorruptTransactionIndex as error:
        return str(error)
    except CorruptSegment:
        # That is no fault of the index, and no reason to build it again.
        return None
    return f"{transactions.path}: {wrong} is of other batches" if wrong is not None else None


def _aborts(log: Log, segment: Segment, aborted: AbortedTransaction) -> bool:
    """Whether the batches at both ends of the transaction, unless they have been compacted away, are of its producer:
    the file has no checksum, and a wrong entry would show what was aborted."""
    if not 0 <= aborted.first_offset < aborted.last_offset or aborted.last_stable_offset > aborted.last_offset + 1:
        return False
    first = log.segments[log.segment_number(aborted.first_offset)]
    marker, begin = segment.find(aborted.last_offset), first.find(aborted.first_offset)
    if marker is None or begin is None:
        return log.config.compact
    for place, offset in ((marker, aborted.last_offset), (begin, aborted.first_offset)):
        if place.batch.base_offset == offset and place.batch.producer_id != aborted.producer_id:
            return False
        deleted = offset < log.segments[0].base_offset
        if place.batch.base_offset != offset and not (deleted or log.config.compact):
            return False
    return True


def finish_sealing(segment: Segment) -> str | None:
    """Of a segment that was synced before it was sealed: a row may be missing, and some of its space is not needed.
    What is wrong with its last rows, if anything, as when one was torn."""
    try:
        segment.check_last_rows()
        segment.seal_again()
    except CorruptIndex as error:
        return str(error)
    except CorruptSegment:
        # As above: there may be rows behind what is damaged.
        return None
    return None


def rebuild_indexes(segment: Segment, epochs: LeaderEpochs, producers: ProducerState) -> list[str]:
    """All indexes anew from the batches that are whole, and what is wrong with the others. `producers` have to be those
    at the segment's beginning. Behind a header that does not say where its batch ends, none can be found."""
    segment.forget_indexes()
    damages = []
    following = segment.base_offset
    try:
        for place in segment.places():
            try:
                batch = segment.read_whole(place)
                if batch.base_offset < following:
                    reason = f"offset {batch.base_offset} where {following} or a later one was due"
                    raise CorruptSegment(segment.path(".log"), place.position, reason)
                following = batch.next_offset
                segment.note(batch, place.position)
                epochs.learn(batch.partition_leader_epoch, batch.base_offset)
                producers.check(batch, AppendOrigin.REPLICATION)
                segment.apply(producers, batch)
            except (MalformedFrame, KafkaError) as error:
                damages.append(str(error))
    except CorruptSegment as error:
        damages.append(str(error))
    segment.seal()
    return damages
