"""Trouble that a test makes, as methods of its broker. They return at once, and may be called in any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Self

from barnabas.protocol.apis import APIS
from barnabas.testing import effects
from barnabas.testing.errors import says_all
from barnabas.testing.faults import Apis, Effect, Fault, api_keys, error_code

if TYPE_CHECKING:
    from types import TracebackType

    from barnabas.protocol.errors import ErrorCode
    from barnabas.testing.embedded import Embedded
    from barnabas.testing.history import Request

__all__ = ["Paused", "Trouble"]

__tracebackhide__ = says_all


class Paused:
    """At the end of `with` the broker answers again."""

    def __init__(self, trouble: Trouble) -> None:
        self._trouble = trouble

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._trouble.resume()


class Trouble:
    """`api`: Kafka's name of it ("Produce"), several names, or "*" for all that this broker speaks. `times`: how many
    requests meet the fault, None for all until it is undone: by `undo()`, at the end of `with`, by `clear_faults()`.
    `topic`, `client_id`: only requests that name the topic, or come from that client.

    Faults, a pause and what the broker saw outlive its restarts."""

    _embedded: Embedded

    def __reduce__(self) -> NoReturn:
        raise TypeError("a broker lives in this process: hand its bootstrap_servers to another one")

    def fail_next(
        self,
        api: Apis,
        error: ErrorCode | str | int,
        times: int | None = 1,
        *,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> Fault:
        """The next requests are refused with this error, as Kafka says it in that API and version, and not carried out.
        Of a Produce or Fetch with several topics only `topic` is refused; any other request that names it, as a whole.

        Some things are as in Kafka: a Produce with acks=0, which has no answer, has its connection cut; Metadata names
        the brokers all the same, and one that asks for no topics, which is how clients look for brokers, meets no error
        but REBOOTSTRAP_REQUIRED."""
        code = error_code(error)
        effect, suits = effects.fail(code, topic), effects.can_fail_with(code)
        return self._embedded.faults.add(f"fails with {code.name}", api, effect, times, topic, client_id, suits)

    def delay_next(
        self,
        api: Apis,
        seconds: float,
        times: int | None = 1,
        *,
        after_appending: bool = False,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> Fault:
        """The next requests wait so long before they are carried out; with `after_appending` they are carried out at
        once, and their answers wait."""
        effect = effects.delay(seconds, after_appending=after_appending)
        what = f"is {'answered' if after_appending else 'carried out'} {seconds:g} s late"
        return self._add(what, api, effect, times, topic, client_id)

    def ignore_next(
        self, api: Apis, times: int | None = 1, *, topic: str | None = None, client_id: str | None = None
    ) -> Fault:
        """The next requests are neither carried out nor answered; their connections stay, and wait."""
        return self._add("is never answered", api, effects.ignore(), times, topic, client_id)

    def drop_next(
        self,
        api: Apis,
        times: int | None = 1,
        *,
        after_appending: bool = False,
        topic: str | None = None,
        client_id: str | None = None,
    ) -> Fault:
        """The connections of the next requests are cut: before these are carried out, or `after_appending`, which is
        the classic lost answer."""
        effect = effects.drop(after_appending=after_appending)
        what = f"is cut {'after' if after_appending else 'before'} it was carried out"
        return self._add(what, api, effect, times, topic, client_id)

    def throttle(
        self, api: Apis, milliseconds: int, times: int | None = None, *, client_id: str | None = None
    ) -> Fault:
        """Answers tell the client to wait so long, and its connection is not read for that time, as by a quota."""
        return self._add(
            f"is throttled for {milliseconds} ms", api, effects.throttle(milliseconds), times, None, client_id
        )

    def _add(
        self, what: str, api: Apis, effect: Effect, times: int | None, topic: str | None, client_id: str | None
    ) -> Fault:
        return self._embedded.faults.add(what, api, effect, times, topic, client_id)

    def clear_faults(self) -> None:
        """Of all kinds; requests that have met one already stay with it."""
        self._embedded.faults.clear()

    def pause(self) -> Paused:
        """Nothing is answered any more, not even what waits already; connections stay, new ones come in."""
        self._embedded.do(lambda _host: self._embedded.interception.pause())
        return Paused(self)

    def resume(self) -> None:
        """What waited is answered now."""
        self._embedded.do(lambda _host: self._embedded.interception.resume())

    def drop_connections(self) -> None:
        """All that there are; clients may connect again at once."""
        self._embedded.do(lambda host: host.drop_connections())

    # What the broker saw

    def requests(self, api: Apis = "*") -> list[Request]:
        """The last thousand, the oldest in front; of one API or several, if they are named."""
        names = {APIS[key].name for key in api_keys(api)}
        return [one for one in list(self._embedded.history.requests) if one.api in names]

    def events(self) -> list[str]:
        """What `barnabas start` would have written to its log."""
        return [text for _, text in list(self._embedded.history.events)]

    def report(self, last: int = 30) -> str:
        """The last requests and events, and the faults that are set, to be read in a failing test."""
        return self._embedded.report(last)
