"""Trouble on purpose: what becomes of the next requests of an API, until so many have met it or it is undone.

    broker.fail_next("Produce", "NOT_ENOUGH_REPLICAS", times=2)
    with broker.ignore_next("Fetch", times=None) as fault:
        ...
    assert fault.met == 3

A fault is a filter (which requests), a number (how many), and what it does. Those set first are met first, one by each
request.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from barnabas.broker.apis import MODULES
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode
from barnabas.testing.errors import NotInTime, says_all
from barnabas.testing.message_parts import topics_of

if TYPE_CHECKING:
    from barnabas.broker.call import Call
    from barnabas.broker.dispatch import Handler, Response
    from barnabas.broker.node import Node
    from barnabas.protocol.schema import Message

__all__ = ["Apis", "Fault", "Faults", "api_keys", "error_code"]

__tracebackhide__ = says_all

FETCH = 1
Apis = str | int | Iterable[str | int]
Effect = Callable[["Node", "Call", "Message", "Handler"], "Awaitable[Response]"]
"""What answers in place of the handler; it may call that."""


Suits = Callable[["Call", "Message"], bool]
"""Whether a request is of a kind that can meet the fault."""


def _all(_call: Call, _request: Message) -> bool:
    return True


class Fault:
    """Made by the broker's methods. Inside `with` it is set; at the end of it, or after `undo`, it is not."""

    def __init__(
        self,
        faults: Faults,
        what: str,
        keys: frozenset[int],
        effect: Effect,
        times: int | None,
        topic: str | None,
        client_id: str | None,
        suits: Suits,
    ) -> None:
        self._faults = faults
        self.what = what
        """In a few words."""
        self._keys = keys
        self._topic = topic
        self._client_id = client_id
        self._suits = suits
        self.effect = effect
        self.left = times
        """How many more requests will meet it; None for all, until it is undone."""
        self.met = 0
        """How many requests have met it."""
        self._met_enough = threading.Event()

    def __repr__(self) -> str:
        return f"<Fault: {self}>"

    def __str__(self) -> str:
        names = ", ".join(sorted(APIS[key].name for key in self._keys)) if len(self._keys) < len(MODULES) else "any API"
        of = f" of {self._topic}" if self._topic is not None else ""
        left = "until undone" if self.left is None else f"{self.left} more"
        return f"{names}{of}: {self.what}, met {self.met} times, {left}"

    def undo(self) -> None:
        """No further request meets it."""
        self._faults.remove(self)

    def wait(self, timeout: float = 5.0) -> None:
        """Until as many requests have met it as it was set for, or one, if it is set for all; NotInTime says how many
        did. In a loop that serves the client as well, call it in a thread, as with asyncio.to_thread."""
        if not self._met_enough.wait(timeout):
            raise NotInTime(f"after {timeout:g} s: {self}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    # In the broker's loop

    def concerns(self, node: Node, call: Call, request: Message) -> bool:
        if call.api.key not in self._keys or self._client_id not in (None, call.client_id):
            return False
        if not self._suits(call, request):
            return False
        return self._topic is None or self._topic in self._topics(node, call, request)

    def _topics(self, node: Node, call: Call, request: Message) -> Iterable[str]:
        named = topics_of(request, node)
        if call.api.key != FETCH:
            return named
        from barnabas.testing.refused_parts import fetched_topics

        return {*named, *fetched_topics(node, request)}  # type: ignore[arg-type] # of this API

    def meet(self) -> None:
        self.met += 1
        if self.left is not None:
            self.left -= 1
            if self.left > 0:
                return
            self.undo()
        self._met_enough.set()


class Faults:
    """Those that are set. Any thread may set and undo; requests meet them in the broker's loop."""

    def __init__(self) -> None:
        self._set: tuple[Fault, ...] = ()
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._set)

    def __iter__(self) -> Any:
        return iter(self._set)

    def add(
        self,
        what: str,
        apis: Apis,
        effect: Effect,
        times: int | None,
        topic: str | None,
        client_id: str | None,
        suits: Suits = _all,
    ) -> Fault:
        if times is not None and (not isinstance(times, int) or times < 1):
            raise ValueError(f"times={times!r}: a fault is met at least once, or by all with times=None")
        fault = Fault(self, what, api_keys(apis), effect, times, topic, client_id, suits)
        with self._lock:
            self._set += (fault,)
        return fault

    def remove(self, fault: Fault) -> None:
        with self._lock:
            self._set = tuple(one for one in self._set if one is not fault)

    def clear(self) -> None:
        with self._lock:
            self._set = ()

    def next_for(self, node: Node, call: Call, request: Message) -> Fault | None:
        for fault in self._set:
            if fault.concerns(node, call, request):
                fault.meet()
                return fault
        return None


def api_keys(apis: Apis) -> frozenset[int]:
    """By names as Kafka's, or keys; "*" stands for all."""
    if apis == "*":
        return frozenset(MODULES)
    keys = frozenset(map(_api_key, [apis] if isinstance(apis, str | int) else apis))
    if not keys:
        raise ValueError('no API is named; "*" stands for all')
    return keys


def _api_key(api: str | int) -> int:
    by_name = {APIS[key].name.lower(): key for key in MODULES}
    key = api if isinstance(api, int) else by_name.get(api.lower())
    if key in MODULES:
        assert isinstance(key, int)
        return key
    near = difflib.get_close_matches(str(api).lower(), by_name, 1)
    meant = f"; did you mean {APIS[by_name[near[0]]].name}?" if near else ""
    raise ValueError(f"this broker answers no API {api!r}{meant}")


_FORMER_NAMES = {
    "NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER",
    "GROUP_COORDINATOR_NOT_AVAILABLE": "COORDINATOR_NOT_AVAILABLE",
    "GROUP_LOAD_IN_PROGRESS": "COORDINATOR_LOAD_IN_PROGRESS",
    "NOT_COORDINATOR_FOR_GROUP": "NOT_COORDINATOR",
}
"""As Kafka's protocol had them once, and client libraries still have them."""


def error_code(error: ErrorCode | str | int) -> ErrorCode:
    """By its name as Kafka's, or its number."""
    try:
        code = ErrorCode[error.upper()] if isinstance(error, str) else ErrorCode(error)
    except (KeyError, ValueError):
        meant = _meant(error) if isinstance(error, str) else None
        raise ValueError(f"Kafka has no error {error!r}{f'; did you mean {meant}?' if meant else ''}") from None
    if code is ErrorCode.NONE:
        raise ValueError("NONE is no error")
    return code


def _meant(error: str) -> str | None:
    """Libraries have exceptions for them: NotLeaderForPartitionError, UnknownTopicOrPartitionException."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", error).upper()
    words = words.removesuffix("_ERROR").removesuffix("_EXCEPTION")
    near = difflib.get_close_matches(words, {*ErrorCode.__members__, *_FORMER_NAMES} - {"NONE"}, 1)
    return _FORMER_NAMES.get(near[0], near[0]) if near else None
