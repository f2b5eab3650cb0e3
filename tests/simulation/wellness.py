"""When a cluster is well: everybody is there and has everything. And what has to be true then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.coordination.cluster.partition import NO_LEADER
from tests.simulation.clients.committer import Committer
from tests.simulation.clients.consumer import Consumer, topic_places
from tests.simulation.ledger import Place

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["check_everything", "missing_for_wellness"]

READS_S = 60.0


def missing_for_wellness(world: World, *, at_rest: bool = False) -> str | None:
    """What is still missing; at rest nobody writes any more, so that all copies end alike."""
    for machine in world.machines:
        if machine.serving is None:
            return f"{machine.name} is not in service"
    node = world.controller.serving
    assert node is not None
    image = node.image
    for machine in world.machines:
        other = machine.serving
        assert other is not None
        if other.image.next_offset < image.next_offset:
            return f"{machine.name} has read the metadata up to {other.image.next_offset}, not {image.next_offset}"
        broker = image.brokers.get(machine.node_id)
        if broker is None or broker.fenced or broker.epoch != other.broker_epoch:
            return f"{machine.name} is not let in: {broker}"
    for topic in image.topics:
        for number, state in sorted(topic.partitions.items()):
            if state.leader == NO_LEADER:
                return f"{topic.name}-{number} has no leader"
            if set(state.isr) != set(state.replicas):
                return f"{topic.name}-{number} has {state.isr} in sync, of {state.replicas}"
            ends = {}
            for replica in state.replicas:
                there = world.machines[replica - 1].serving
                copy = None if there is None else there.partitions.find(topic.name, number)
                if copy is None or copy.topic_id != topic.id:
                    return f"{topic.name}-{number} is not on node {replica}"
                ends[replica] = (copy.log_end.offset, copy.high_watermark.offset)
                if copy.leads != (replica == state.leader):
                    return f"{topic.name}-{number} on node {replica} has not its role: {copy}"
            end = ends[state.leader][0]
            if at_rest and any(each != (end, end) for each in ends.values()):
                return f"{topic.name}-{number} ends at {ends}"
    return None


async def check_everything(world: World, name: str, topics: list[str]) -> None:
    """At rest. What anybody was ever told is there, once, in order."""
    world.checker.look_closely()
    reader = Consumer(world, name, topics)
    cluster = await reader.learn(*topics)
    places = [place for topic in cluster.topics.values() for place in topic_places(topic)]
    ends = {place: world.checker.committed[place.topic_id, place.number].end_offset for place in places}
    world.begin(reader)

    def missing() -> str | None:
        behind = [
            f"{place} at {reader.positions[place]} of {ends[place]}"
            for place in places
            if reader.positions[place] < ends[place]
        ]
        return "; ".join(behind) or None

    await world.until(missing, READS_S, "reading all of it")
    reader.stopping = True
    for place in places:
        _check_place(world, place, reader.read[place])
    await _check_groups(world)


def _check_place(world: World, place: Place, found: dict[int, bytes]) -> None:
    for offset, value in world.ledger.acknowledged[place].items():
        if found.get(offset) != value:
            world.fail(f"{place}: {value!r} was acknowledged at offset {offset}, where {found.get(offset)!r} is")
    order = {value: offset for offset, value in found.items()}
    if len(order) < len(found):
        twice = [value for offset, value in found.items() if order[value] != offset]
        world.fail(f"{place}: {twice[0]!r} is there more than once")
    for producer, sent in world.ledger.sent[place].items():
        offsets = [order[value] for value in sent.values if value in order]
        if offsets != sorted(offsets):
            world.fail(f"{place}: the records of {producer} are out of their order")
    wanted = {value for sent in world.ledger.sent[place].values() for value in sent.values}
    for value in order:
        if value not in wanted:
            world.fail(f"{place}: nobody has sent {value!r}")


async def _check_groups(world: World) -> None:
    for group, place in world.ledger.committed:
        if place.topic_id in world.ledger.deleted:
            continue
        looker = Committer(world, group, place.topic)
        await looker.learn(place.topic)
        with trio.move_on_after(READS_S) as scope:
            while not await looker.look(place):
                await looker.wait_a_little()
        await looker.aclose()
        if scope.cancelled_caught:
            world.fail(f"what group {group} has committed cannot be read")
