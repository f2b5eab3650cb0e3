"""What the simulation has found between nodes, as the shortest story in which it happens."""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tests.simulation.clients.client import Client
from tests.simulation.settings import Scenario
from tests.simulation.wellness import missing_for_wellness
from tests.simulation.world import World, simulate


def test_who_asks_a_broker_for_the_first_coordinator_is_told_to_ask_again() -> None:
    """The controller has made __consumer_offsets by then, and the broker has not read of it."""
    codes: list[ErrorCode] = []

    async def story(world: World) -> None:
        for machine in world.machines:
            machine.start()
        await world.until(lambda: missing_for_wellness(world), 60, "coming up")
        client = Client(world, "client")
        await client.learn()
        while ErrorCode.NONE not in codes:
            answer = await client.ask(2, FindCoordinatorRequest(coordinator_keys=["group"]), FindCoordinatorResponse)
            codes.append(ErrorCode(answer.coordinators[0].error_code))
            await client.wait_a_little()
        await client.aclose()

    for seed in range(1, 4):
        codes.clear()
        outcome = simulate(seed, story, Scenario(nodes=2))
        assert outcome.failure is None
        assert codes[0] is ErrorCode.COORDINATOR_NOT_AVAILABLE
