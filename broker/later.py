"""What is to be done with an answer, whether it is there or has to be awaited."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any

from barnabas.protocol.schema import Message

__all__ = ["then"]

Answer = Message | Coroutine[Any, Any, Message]


def then(answer: Answer, finish: Callable[[Any], Message]) -> Answer:
    """`finish` of the answer: at once if that is there, else a coroutine that awaits it."""
    if type(answer) is CoroutineType:
        return _finish_later(answer, finish)
    return finish(answer)


async def _finish_later(answer: Coroutine[Any, Any, Message], finish: Callable[[Any], Message]) -> Message:
    return finish(await answer)
