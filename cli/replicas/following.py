"""`verify-replicas --continuous`: what comes is compared as it comes, in the words of Kafka's tool, until Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from barnabas.cli.clients.interruption import Interruption
from barnabas.cli.failures import CommandFailed
from barnabas.cli.output import Output
from barnabas.cli.partition_words import PartitionFilter
from barnabas.cli.refusals import sentence_of
from barnabas.cli.replicas.brokers import Brokers
from barnabas.cli.replicas.checked import Checked, difference_sentence
from barnabas.cli.replicas.looking import begin, look, topic_ids
from barnabas.cli.replicas.rounds import Rounds
from barnabas.cli.replicas.telling import NOT_WHOLE
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import ClientError
from barnabas.client.offsets import EARLIEST
from barnabas.protocol.errors import KafkaError

__all__ = ["follow"]

_PAUSE_S = 0.05


def follow(
    cluster: Cluster, brokers: Brokers, wanted: PartitionFilter, timestamp: int, interval_s: float, output: Output
) -> int:
    with Interruption() as interruption:
        checked = look(cluster, brokers.topic_ids, wanted)
        begin(cluster, brokers, checked, timestamp, to_end=False)
        rounds = Rounds(brokers, checked, wait_for_all=True)
        _line(output, "verification process is started")
        told: set[Partition] = set()
        next_s = time.monotonic() + interval_s
        while not interruption:
            if not rounds.go_on():
                time.sleep(_PAUSE_S)
            for each in checked:
                if each.difference is not None and each.partition not in told:
                    told.add(each.partition)
                    _tell_difference(each, output)
            if time.monotonic() >= next_s:
                _report(checked, output)
                checked = _look_again(cluster, brokers, wanted, checked, output)
                rounds.replace(checked)
                next_s = time.monotonic() + interval_s
    return NOT_WHOLE if told else interruption.exit_code


def _look_again(
    cluster: Cluster, brokers: Brokers, wanted: PartitionFilter, checked: Sequence[Checked], output: Output
) -> list[Checked]:
    """Topics come and go, and replicas move."""
    known = {each.partition: each for each in checked}
    try:
        brokers.topic_ids = topic_ids(cluster, wanted)
        found = look(cluster, brokers.topic_ids, wanted)
        new = [each for each in found if each.partition not in known]
        begin(cluster, brokers, new, EARLIEST, to_end=False)
    except (ClientError, KafkaError, CommandFailed) as error:
        output.note(sentence_of(error) or str(error))
        return list(checked)
    now = []
    for each in found:
        before = known.get(each.partition, each)
        before.replicas = each.replicas
        now.append(before)
    return now


def _tell_difference(checked: Checked, output: Output) -> None:
    assert checked.difference is not None
    if output.as_json:
        output.json(checked.as_json())
    _line(output, difference_sentence(checked.partition, checked.difference, "replica"))


def _report(checked: Sequence[Checked], output: Output) -> None:
    worst = max(checked, key=lambda each: each.lag)
    if output.as_json:
        output.json({"max_lag": worst.lag, "topic": worst.partition.topic, "partition": worst.partition.number})
    _line(
        output,
        f"max lag is {worst.lag} for partition {worst.partition} at offset {worst.next_offset} "
        f"among {len(checked)} partitions",
    )


def _line(output: Output, text: str) -> None:
    now = datetime.now()
    output.line(f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}: {text}")
