"""What a controller does of its own accord from time to time: give partitions their preferred leaders back, and give
those without a leader any replica that is alive, where their topic allows it."""

from __future__ import annotations

from barnabas.coordination.cluster.partition import NO_LEADER
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.elect_leaders import elect_leader
from barnabas.coordination.controller.leadership import partition_changer
from barnabas.coordination.controller.partition_change import Election
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome

__all__ = ["balance_leaders", "elect_unclean_leaders"]

MAX_ELECTIONS = 1_000
"""In one batch; whoever calls may call again at once if there were as many."""


def balance_leaders(controller: Controller) -> Outcome[MetadataRecord, None]:
    records: list[MetadataRecord] = []
    for topic, number, partition in controller.image.topics.partitions():
        if len(records) == MAX_ELECTIONS:
            break
        if partition.leader != partition.preferred_leader:
            changer = partition_changer(controller, topic, number, partition)
            changer.election = Election.PREFERRED
            record = changer.build()
            if record is not None:
                records.append(record)
    return Outcome(records)


def elect_unclean_leaders(controller: Controller) -> Outcome[MetadataRecord, None]:
    records: list[MetadataRecord] = []
    for topic, number, partition in controller.image.topics.partitions():
        if len(records) == MAX_ELECTIONS:
            break
        if partition.leader == NO_LEADER and controller.unclean_election_enabled(topic.name):
            _, record = elect_leader(controller, topic.name, number, Election.UNCLEAN)
            if record is not None:
                records.append(record)
    return Outcome(records)
