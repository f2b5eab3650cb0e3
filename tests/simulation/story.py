"""What most runs are: a cluster comes up, works under faults, gets well, and all is as it has to be; and again."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING

import trio

from barnabas.client.channel import Unreachable
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.simulation.clients.client import Client
from tests.simulation.clients.committer import Committer
from tests.simulation.clients.consumer import Consumer
from tests.simulation.clients.producer import ALL, LEADER, Producer
from tests.simulation.faults import Faults
from tests.simulation.wellness import check_everything, missing_for_wellness

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["story"]

COMES_UP_S = 60.0
GETS_WELL_S = 90.0
CLIENTS_END_S = 60.0


class Admin(Client):
    """It asks until it is answered."""

    async def create(self, name: str, partitions: int) -> None:
        configs = [CreatableTopicConfig(name="internal.segment.bytes", value=str(self.world.scenario.segment_bytes))]
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1, configs=configs)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        while True:
            await self.learn()
            try:
                broker = self.generator.choice(list(self.cluster.brokers))
                answer = await self.ask(broker, request, CreateTopicsResponse, timeout_ms=15_000)
            except Unreachable:
                await self.wait_a_little()
                continue
            code = ErrorCode(answer.topics[0].error_code)
            if code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                return
            self.note(f"cannot create {name}: {code.name}")
            await self.wait_a_little()


async def story(world: World) -> None:
    scenario = world.scenario
    generator = random.Random(f"story {world.seed}")
    faults = Faults(world, random.Random(f"faults {world.seed}"))
    for machine in world.machines:
        machine.start()
    await world.until(lambda: missing_for_wellness(world), COMES_UP_S, "coming up")
    admin = Admin(world, "admin")
    topics = [f"topic{number}" for number in range(scenario.topics)]
    for topic in topics:
        await admin.create(topic, scenario.partitions)
    for number in range(scenario.rounds):
        world.history.note("world", f"round {number + 1}")
        clients = _clients(world, generator, number, topics)
        for client in clients:
            world.begin(client)
        await trio.sleep(1)
        await faults.run(scenario.round_s, scenario.faults_pause_s)
        world.history.note("world", "faults end")
        faults.end()
        await world.until(lambda: missing_for_wellness(world), GETS_WELL_S, "getting well")
        for client in clients:
            client.stopping = True
        await world.until(partial(_still_running, clients), CLIENTS_END_S, "the end of the clients")
        await world.until(lambda: missing_for_wellness(world, at_rest=True), GETS_WELL_S, "coming to rest")
        await check_everything(world, f"reader{number}", topics)
        faults.all_is_well()


def _clients(world: World, generator: random.Random, number: int, topics: list[str]) -> list[Client]:
    clients: list[Client] = []
    for topic in topics:
        for partition in range(world.scenario.partitions):
            for which in range(generator.choice([1, 1, 2])):
                acks = generator.choice([ALL, ALL, ALL, LEADER])
                name = f"producer{number}.{topic}-{partition}.{which}"
                pause_s = generator.choice([0.02, 0.1, 0.5])
                clients.append(Producer(world, name, topic, partition, acks=acks, pause_s=pause_s))
    clients.append(Consumer(world, f"consumer{number}", topics))
    clients.append(Committer(world, f"group{number}", generator.choice(topics)))
    return clients


def _still_running(clients: list[Client]) -> str | None:
    running = [client.name for client in clients if not client.has_ended]
    return ", ".join(running) + " still run" if running else None
