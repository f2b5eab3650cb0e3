"""client/channel.py against scripted nodes on streams in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing

from barnabas.client.channel import Channel, Unreachable
from barnabas.protocol.apis import API_VERSIONS, APIS
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.frames import FrameReader, decode_request, encode_response, unsupported_api_versions
from barnabas.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.protocol.messages.vote import VoteRequest, VoteResponse

HEARTBEAT = 63
ANSWER = BrokerHeartbeatResponse(is_caught_up=True)

Serve = Callable[[trio.abc.Stream], Awaitable[None]]


class Node:
    """Speaks what it is told to, and answers heartbeats in turn with what `answers` has."""

    nursery: trio.Nursery

    def __init__(self, *answers: object, api_versions: tuple[int, int] = (0, 4), heartbeat: tuple[int, int] = (0, 1)):
        self.answers = list(answers)
        self.api_versions = api_versions
        self.heartbeat = heartbeat
        self.asked: list[tuple[str, int]] = []
        self.connections = 0

    async def dial(self) -> trio.abc.Stream:
        self.connections += 1
        ours, theirs = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self._serve, theirs)
        return ours

    async def _serve(self, stream: trio.abc.Stream) -> None:
        reader = FrameReader(1 << 20)
        while data := await stream.receive_some():
            reader.receive(bytes(data))
            while (frame := reader.next_frame()) is not None:
                version = int.from_bytes(frame[6:8], "big")
                if int.from_bytes(frame[4:6], "big") == API_VERSIONS and version > self.api_versions[1]:
                    chunks = unsupported_api_versions(int.from_bytes(frame[8:12], "big"))
                    await stream.send_all(b"".join(chunks))  # type: ignore[arg-type]
                    continue
                request = decode_request(frame, APIS)
                header = request.header
                self.asked.append((request.api.name, header.request_api_version))
                if request.api.key == API_VERSIONS:
                    spoken = {API_VERSIONS: self.api_versions, HEARTBEAT: self.heartbeat}
                    keys = [
                        ApiVersion(api_key=key, min_version=low, max_version=top) for key, (low, top) in spoken.items()
                    ]
                    answer: object = ApiVersionsResponse(api_keys=keys)
                else:
                    answer = self.answers.pop(0)
                if answer is None:
                    await stream.aclose()
                    return
                if isinstance(answer, bytes):
                    await stream.send_all(answer)
                    continue
                if answer is not Ellipsis:
                    chunks = encode_response(
                        request.api,
                        header.request_api_version,
                        header.correlation_id,
                        answer,  # type: ignore[arg-type]
                    )
                    await stream.send_all(b"".join(chunks))  # type: ignore[arg-type]


def run(node: Node, body: Callable[[Channel], Awaitable[None]]) -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            node.nursery = nursery
            channel = Channel("node 7", node.dial, client_id="barnabas")
            try:
                await body(channel)
            finally:
                await channel.aclose()
            nursery.cancel_scope.cancel()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def beat(channel: Channel, **how: int) -> BrokerHeartbeatResponse:
    return await channel.ask(BrokerHeartbeatRequest(broker_id=3), BrokerHeartbeatResponse, timeout_ms=1_000, **how)


def test_one_connection_serves_many_requests_in_the_newest_common_version() -> None:
    node = Node(ANSWER, ANSWER)

    async def body(channel: Channel) -> None:
        assert (await beat(channel)).is_caught_up
        assert (await beat(channel, at_most=0)).is_caught_up
        assert await channel.version_of(BrokerHeartbeatRequest, timeout_ms=1_000) == 1

    run(node, body)
    assert node.connections == 1
    assert node.asked == [("ApiVersions", 4), ("BrokerHeartbeat", 1), ("BrokerHeartbeat", 0)]


def test_several_askers_take_turns() -> None:
    node = Node(*[BrokerHeartbeatResponse(throttle_time_ms=number) for number in range(5)])

    async def body(channel: Channel) -> None:
        got = []

        async def one() -> None:
            got.append((await beat(channel)).throttle_time_ms)

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(one)
        assert sorted(got) == [0, 1, 2, 3, 4]

    run(node, body)
    assert node.connections == 1


def test_an_older_node_is_asked_in_its_versions() -> None:
    node = Node(ANSWER, api_versions=(0, 2), heartbeat=(0, 0))

    async def body(channel: Channel) -> None:
        await beat(channel)

    run(node, body)
    assert node.asked == [("ApiVersions", 2), ("BrokerHeartbeat", 0)]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "closed the connection when it was asked BrokerHeartbeat"),
        (..., "does not answer BrokerHeartbeat in 1000 ms"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak Kafka's protocol"),
        (bytes.fromhex("00000004 7fffffff"), "(does not speak|answers something else)"),
    ],
)
def test_after_anything_else_it_begins_anew(answer: object, says: str) -> None:
    node = Node(answer, ANSWER)

    async def body(channel: Channel) -> None:
        with pytest.raises(Unreachable, match=rf"^node 7 .*{says}"):
            await beat(channel)
        assert (await beat(channel)).is_caught_up

    run(node, body)
    assert node.connections == 2


def test_a_cancelled_question_does_not_answer_the_next() -> None:
    node = Node(..., BrokerHeartbeatResponse(throttle_time_ms=2))

    async def body(channel: Channel) -> None:
        with trio.move_on_after(0.5) as scope:
            await beat(channel)
        assert scope.cancelled_caught
        assert (await beat(channel)).throttle_time_ms == 2

    run(node, body)


@pytest.mark.parametrize("is_dialling", [True, False])
def test_when_it_ends_all_who_wait_are_told_and_nobody_opens_it_again(is_dialling: bool) -> None:
    node = Node(...)

    async def never() -> trio.abc.Stream:
        node.connections += 1
        await trio.sleep_forever()
        raise AssertionError

    async def body(channel: Channel) -> None:
        told = []
        started_s = trio.current_time()
        if is_dialling:
            channel = Channel("node 7", never, client_id="barnabas")

        async def one() -> None:
            with pytest.raises(Unreachable) as failure:
                await channel.ask(BrokerHeartbeatRequest(), BrokerHeartbeatResponse, timeout_ms=60_000)
            told.append(str(failure.value))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(one)
            await trio.testing.wait_all_tasks_blocked()
            await channel.end()
        await one()
        first = "not asked any more" if is_dialling else "cannot be reached: "
        assert [first in told[0], *("not asked any more" in each for each in told[1:])] == [True] * 4
        assert trio.current_time() < started_s + 1, "nobody has waited for his time to be over"

    run(node, body)
    assert node.connections == 1


def test_what_the_other_side_does_not_offer() -> None:
    async def body(channel: Channel) -> None:
        with pytest.raises(Unreachable, match=r"^node 7 does not offer Vote in a version that this node speaks$"):
            await channel.ask(VoteRequest(), VoteResponse, timeout_ms=1_000)

    run(Node(), body)


def test_nobody_there() -> None:
    async def nowhere() -> trio.abc.Stream:
        raise OSError(111, "Connection refused")

    async def main() -> None:
        with pytest.raises(Unreachable, match=r"^node 7 cannot be reached: Connection refused$"):
            await beat(Channel("node 7", nowhere, client_id="barnabas"))

    trio.run(main)


def test_an_error_of_api_versions_is_told() -> None:
    class Broken(Node):
        async def _serve(self, stream: trio.abc.Stream) -> None:
            await stream.receive_some()
            chunks = encode_response(
                APIS[API_VERSIONS], 4, 1, ApiVersionsResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
            )
            await stream.send_all(b"".join(chunks))  # type: ignore[arg-type]

    async def body(channel: Channel) -> None:
        with pytest.raises(Unreachable, match=r"^node 7 answers ApiVersions with UNKNOWN_SERVER_ERROR$"):
            await beat(channel)

    run(Broken(), body)
