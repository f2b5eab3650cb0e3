"""What a broker says when the controller does not want its heartbeats."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from barnabas.broker.heartbeats import Heartbeats
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatResponse
from barnabas.protocol.schema import Message

INTERVAL_MS = 2_000
FINE, STALE, OTHER = ErrorCode.NONE, ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NOT_CONTROLLER


class Link:
    """To a controller that answers as it is told, and then hangs."""

    def __init__(self, answers: list[ErrorCode]) -> None:
        self.answers = answers

    async def ask(self, _request: Message, _answer: type[Message]) -> Message:
        if not self.answers:
            await trio.sleep_forever()
        return BrokerHeartbeatResponse(error_code=self.answers.pop(0))


@pytest.mark.trio
@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([FINE] * 3, []),
        ([FINE, STALE, STALE, STALE], ["STALE_BROKER_EPOCH: another one has come with its node.id"]),
        ([STALE, FINE, STALE], ["STALE_BROKER_EPOCH"] * 2),
        ([STALE, OTHER, OTHER], ["STALE_BROKER_EPOCH", "NOT_CONTROLLER"]),
    ],
)
async def test_a_refusal_is_said_once(
    answers: list[ErrorCode], told: list[str], autojump_clock: trio.testing.MockClock
) -> None:
    said = list[str]()
    link = Link(list(answers))
    node: Any = SimpleNamespace(
        node_id=3,
        broker_epoch=7,
        config=SimpleNamespace(broker_heartbeat_interval_ms=INTERVAL_MS),
        image=SimpleNamespace(next_offset=1),
        directories=SimpleNamespace(offline_ids=[], cordoned_ids=[]),
        controller_link=link,
        warn=said.append,
    )
    with trio.move_on_after((len(answers) + 1) * INTERVAL_MS / 1_000 + 1):
        await Heartbeats(node).run()
    assert not link.answers, "all were asked for"
    assert len(said) == len(told)
    for sentence, words in zip(said, told, strict=True):
        assert words in sentence
