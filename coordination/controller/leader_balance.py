"""What a controller does of its own accord from time to time: give partitions their preferred leaders back, and give
those without a leader any replica that is alive, where their topic allows it. The reply: whether there may be more."""

from __future__ import annotations

from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.elect_leaders import elect_leader
from barnabas.coordination.controller.leadership import partition_changer
from barnabas.coordination.controller.partition_change import Election
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome

__all__ = ["balance_leaders", "elect_unclean_leaders"]

MAX_ELECTIONS = 1_000
"""In one batch."""


def balance_leaders(controller: Controller) -> Outcome[MetadataRecord, bool]:
    records: list[MetadataRecord] = []
    for topic, number, partition in controller.placed.unbalanced(controller.image):
        if len(records) == MAX_ELECTIONS:
            break
        changer = partition_changer(controller, topic, number, partition)
        changer.election = Election.PREFERRED
        record = changer.build()
        if record is not None:
            records.append(record)
    return Outcome(records, len(records) == MAX_ELECTIONS)


def elect_unclean_leaders(controller: Controller) -> Outcome[MetadataRecord, bool]:
    records: list[MetadataRecord] = []
    for topic, number, _ in controller.placed.without_leader(controller.image):
        if len(records) == MAX_ELECTIONS:
            break
        if controller.unclean_election_enabled(topic.name):
            _, record = elect_leader(controller, topic.name, number, Election.UNCLEAN)
            if record is not None:
                records.append(record)
    return Outcome(records, len(records) == MAX_ELECTIONS)
