"""A connection to one other node, for those who have an event loop: a request, its answer, and the next.

It is made when it is needed, asked for what the other side speaks, and made anew after anything went wrong with it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TypeVar

import trio

from barnabas.client.common_versions import newest_common
from barnabas.protocol.apis import API_VERSIONS, APIS, Api
from barnabas.protocol.codec import UnencodableMessage
from barnabas.protocol.errors import ErrorCode, MalformedFrame
from barnabas.protocol.frames import FrameReader, decode_response, encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.schema import Message

__all__ = ["Channel", "Dial", "Unreachable"]

LARGEST_ANSWER_BYTES = 256 << 20
_UNSUPPORTED = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
_ERROR_CODE = slice(8, 10)
"""Where an answer to ApiVersions has it, behind the size and the correlation id."""
_BY_NAME = {f"{api.name}Request": api for api in APIS.values()}

Answer = TypeVar("Answer", bound=Message)
Dial = Callable[[], Awaitable[trio.abc.Stream]]


class Unreachable(Exception):  # noqa: N818 - a state of the other node
    """There was no answer; a sentence says why. The request may have been carried out."""


class Channel:
    def __init__(self, name: str, dial: Dial, *, client_id: str, max_answer_bytes: int = LARGEST_ANSWER_BYTES) -> None:
        """`name` is who is at the other end, for messages. `dial` raises OSError where nobody is. Whoever makes a
        channel closes it in the end."""
        self.name = name
        self._dial = dial
        self._client_id = client_id
        self._max_answer_bytes = max_answer_bytes
        self._correlation_ids = count(1)
        self._one_at_a_time = trio.Lock()
        self._stream: trio.abc.Stream | None = None
        self._dialling = trio.CancelScope()
        self._is_over = False
        self._reader: FrameReader
        self._offered: dict[int, tuple[int, int]] = {}

    def __repr__(self) -> str:
        return f"<Channel to {self.name}, {'closed' if self._stream is None else 'open'}>"

    async def ask(
        self, request: Message, answer: type[Answer], *, timeout_ms: float, at_most: int | None = None
    ) -> Answer:
        """In the newest version that both sides speak, `at_most` that one. Unreachable if there is no answer in time:
        that of connecting included."""
        api = _BY_NAME[type(request).__name__]
        try:
            with trio.fail_after(timeout_ms / 1000):
                async with self._one_at_a_time:
                    return await self._ask(api, request, answer, at_most)
        except trio.TooSlowError:
            raise Unreachable(f"{self.name} does not answer {api.name} in {timeout_ms:.0f} ms") from None

    async def version_of(self, request: type[Message], *, timeout_ms: float) -> int:
        """In which version `ask` would send it."""
        try:
            with trio.fail_after(timeout_ms / 1000):
                async with self._one_at_a_time, _Closing(self):
                    await self._open()
                    return self._version(_BY_NAME[request.__name__], None)
        except trio.TooSlowError:
            raise Unreachable(f"{self.name} does not answer in {timeout_ms:.0f} ms") from None

    async def _ask(self, api: Api, request: Message, answer: type[Answer], at_most: int | None) -> Answer:
        async with _Closing(self):
            stream = await self._open()
            version = self._version(api, at_most)
            message = await self._exchange(stream, api, version, request)
            assert isinstance(message, answer)
            return message

    async def aclose(self) -> None:
        """It is made anew if somebody asks for more."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await trio.aclose_forcefully(stream)

    async def end(self) -> None:
        """For good, as when another node is to be asked instead. Whoever waits for an answer or for his turn, or comes
        later, is told so (Unreachable): he would open what nobody closes."""
        self._is_over = True
        self._dialling.cancel()
        await self.aclose()

    # Opening

    async def _open(self) -> trio.abc.Stream:
        if self._stream is not None:
            return self._stream
        if not self._is_over:
            with trio.CancelScope() as self._dialling:
                self._stream = await self._dial()
        stream = self._stream
        if stream is None or self._is_over:
            raise Unreachable(f"{self.name} is not asked any more")
        self._reader = FrameReader(self._max_answer_bytes)
        api = APIS[API_VERSIONS]
        request = ApiVersionsRequest(client_software_name="barnabas", client_software_version="1")
        version = api.last_stable
        while True:
            message = await self._exchange(stream, api, version, request)
            assert isinstance(message, ApiVersionsResponse)
            if message.error_code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
                break
            spoken = [each.max_version for each in message.api_keys if each.api_key == API_VERSIONS]
            version = min(version - 1, *spoken) if spoken else 0
        if message.error_code:
            raise Unreachable(f"{self.name} answers ApiVersions with {ErrorCode(message.error_code).name}")
        self._offered = {each.api_key: (each.min_version, each.max_version) for each in message.api_keys}
        return stream

    def _version(self, api: Api, at_most: int | None) -> int:
        version = newest_common(api, self._offered)
        if version is None:
            raise Unreachable(f"{self.name} does not offer {api.name} in a version that this node speaks")
        return version if at_most is None else min(version, at_most)

    # Bytes

    async def _exchange(self, stream: trio.abc.Stream, api: Api, version: int, request: Message) -> Message:
        correlation_id = next(self._correlation_ids)
        chunks = encode_request(api, version, correlation_id, self._client_id, request)
        await stream.send_all(b"".join(chunks))  # type: ignore[arg-type] # requests have no parts of files
        while (frame := self._reader.next_frame()) is None:
            data = await stream.receive_some()
            if not data:
                raise Unreachable(f"{self.name} closed the connection when it was asked {api.name}")
            self._reader.receive(bytes(data))
        # ApiVersions of a version that the other side does not know is answered in version 0.
        if api.key == API_VERSIONS and frame[_ERROR_CODE] == _UNSUPPORTED:
            version = 0
        echoed, message = decode_response(api, version, frame)
        if echoed != correlation_id:
            raise Unreachable(f"{self.name} answers something else than what was asked ({api.name})")
        return message


class _Closing:
    """Whatever ends an exchange early leaves a connection on which nobody knows what comes next."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if error is None:
            return
        await self._channel.aclose()
        if isinstance(error, UnencodableMessage):
            raise Unreachable(f"{self._channel.name} is too old for what it has to be asked: {error}") from None
        if isinstance(error, MalformedFrame):
            raise Unreachable(f"{self._channel.name} does not speak Kafka's protocol ({error})") from None
        if isinstance(error, OSError | trio.BrokenResourceError | trio.ClosedResourceError):
            why = getattr(error, "strerror", None) or str(error) or "the connection broke"
            raise Unreachable(f"{self._channel.name} cannot be reached: {why}") from None
