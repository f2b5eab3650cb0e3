"""One connection to one broker: a request, its answer, and the next. It blocks, and never beyond its deadline.

What the broker offers is asked first; each request is then sent in the newest version that both sides speak.
"""

from __future__ import annotations

import struct
from itertools import count
from typing import Self, TypeVar

from barnabas.client.address import Address
from barnabas.client.common_versions import newest_common
from barnabas.client.deadline import Deadline
from barnabas.client.dialing import dial
from barnabas.client.errors import ClientError, NoAnswer, NotKafka, NotOffered, NotSendable, name_of
from barnabas.client.properties import ClientProperties
from barnabas.client.sasl import authenticate, check_credentials
from barnabas.protocol.apis import APIS, Api
from barnabas.protocol.codec import UnencodableMessage
from barnabas.protocol.errors import ErrorCode, MalformedFrame
from barnabas.protocol.frames import Frame, FrameReader, decode_response, encode_request
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from barnabas.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from barnabas.protocol.schema import Message

__all__ = ["CLIENT_ID", "Answer", "Connection"]

CLIENT_ID = "barnabas"
LARGEST_ANSWER_BYTES = 256 << 20
_READ_BYTES = 1 << 16
_API_VERSIONS = APIS[18]
_BY_NAME = {api.name: api for api in APIS.values()}
_TLS_RECORDS = (b"\x15\x03", b"\x16\x03")
_UNSUPPORTED = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
_ERROR_CODE = slice(8, 10)
"""Where an answer to ApiVersions has it, behind the size and the correlation id."""
_AT_LEAST_S = 0.001

Answer = TypeVar("Answer", bound=Message)


class Connection:
    def __init__(self, address: Address, properties: ClientProperties, deadline: Deadline) -> None:
        """Connected, introduced and authenticated; ClientError with the reason otherwise."""
        self.address = address
        self._speaks_tls = properties.uses_tls
        self._client_id = properties.client_id or CLIENT_ID
        self._correlation_ids = count(1)
        self._reader = FrameReader(LARGEST_ANSWER_BYTES)
        self._begun = False
        self.answered = 0
        """How many questions the caller got an answer to."""
        self._socket = dial(address, properties, deadline)
        try:
            self.offered = self._ask_what_is_offered(deadline)
            if properties.uses_sasl:
                self._authenticate(properties, deadline)
        except BaseException:
            self.close()
            raise

    def ask(self, request: Message, answer: type[Answer], deadline: Deadline, *, at_most: int | None = None) -> Answer:
        """In the newest version that both speak, `at_most` that one. The connection is of no use after an error."""
        api = _BY_NAME[type(request).__name__.removesuffix("Request")]
        version = self.version_of(api)
        message = self._exchange(api, version if at_most is None else min(version, at_most), request, answer, deadline)
        self.answered += 1
        return message

    def version_of(self, api: Api) -> int:
        version = newest_common(api, self.offered)
        if version is None:
            first, last = self.offered.get(api.key, (0, -1))
            what = (
                f"offers {api.name} only in versions {first} to {last}" if last >= 0 else f"does not offer {api.name}"
            )
            raise NotOffered(
                f"{self.address} {what}: it is another kind of broker, or too old; "
                "barnabas cluster api-versions shows what it offers."
            )
        return version

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # The first words

    def _ask_what_is_offered(self, deadline: Deadline) -> dict[int, tuple[int, int]]:
        """The versions of each API. A broker that does not know our version of this question answers in version 0."""
        request = ApiVersionsRequest(client_software_name="barnabas", client_software_version="1")
        newest = _API_VERSIONS.last_stable
        answer = self._exchange(_API_VERSIONS, newest, request, ApiVersionsResponse, deadline)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            spoken = [each.max_version for each in answer.api_keys if each.api_key == _API_VERSIONS.key]
            newest = min(newest, *spoken) if spoken else 0
            answer = self._exchange(_API_VERSIONS, newest, request, ApiVersionsResponse, deadline)
        if answer.error_code:
            raise NotKafka(f"{self.address} answers ApiVersions with {name_of(answer.error_code)}.")
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    def _authenticate(self, properties: ClientProperties, deadline: Deadline) -> None:
        check_credentials(properties)
        mechanism = properties.sasl_mechanism
        offer = self.ask(SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse, deadline)
        if offer.error_code and not offer.mechanisms:
            raise NotKafka(
                f"{self.address} asks for no SASL: set security.protocol="
                f"{'SSL' if properties.uses_tls else 'PLAINTEXT'}, or name the port of another listener."
            )
        if offer.error_code:
            raise NotKafka(
                f"{self.address} does not take sasl.mechanism={mechanism}: "
                f"it offers {', '.join(sorted(offer.mechanisms))}."
            )

        def exchange(data: bytes) -> bytes:
            answer = self.ask(SaslAuthenticateRequest(auth_bytes=data), SaslAuthenticateResponse, deadline)
            if answer.error_code:
                why = answer.error_message or name_of(answer.error_code)
                raise NotKafka(f"{self.address} refuses this user: {why.rstrip('.')}. Check sasl.jaas.config.")
            return bytes(answer.auth_bytes)

        if not authenticate(properties, self.address.host, exchange):
            raise NotKafka(f"{self.address} could not prove that it knows this user: do not trust it with a password.")

    # Bytes

    def _exchange(self, api: Api, version: int, request: Message, answer: type[Answer], deadline: Deadline) -> Answer:
        correlation_id = next(self._correlation_ids)
        try:
            self._socket.settimeout(max(deadline.rest_s, _AT_LEAST_S))
            chunks = encode_request(api, version, correlation_id, self._client_id, request)
            self._socket.sendall(b"".join(chunks))  # type: ignore[arg-type]
            echoed, message = self._read_answer(api, version, deadline)
        except UnencodableMessage as error:
            raise self._unsaid(api, version, error) from None
        except TimeoutError:
            raise NoAnswer(
                f"{self.address} does not answer {api.name} in {deadline.timeout_s:.3g} s: "
                "is it busy, or is this another port than Kafka's?"
            ) from None
        except OSError as error:
            raise self._broken(api, error) from None
        except MalformedFrame as error:
            raise NotKafka(f"{self.address} does not speak Kafka's protocol ({error}): check the port.") from None
        if echoed != correlation_id:
            raise NotKafka(f"{self.address} answers something else than what was asked ({api.name}): check the port.")
        assert isinstance(message, answer)
        return message

    def _read_answer(self, api: Api, version: int, deadline: Deadline) -> tuple[int, Message]:
        frame: Frame | None
        while (frame := self._reader.next_frame()) is None:
            self._socket.settimeout(max(deadline.rest_s, _AT_LEAST_S))
            data = self._socket.recv(_READ_BYTES)
            if not data:
                raise self._ended(api)
            if not self._begun:
                self._look_at_first(data)
            self._reader.receive(data)
        # ApiVersions of a version that the broker does not know is answered in version 0.
        if api is _API_VERSIONS and frame[_ERROR_CODE] == _UNSUPPORTED:
            version = 0
        return decode_response(api, version, frame)

    def _look_at_first(self, data: bytes) -> None:
        self._begun = True
        if data.startswith(_TLS_RECORDS):
            raise NotKafka(f"{self.address} speaks TLS: set security.protocol=SSL in --command-config.")
        if data.startswith(b"HTTP/"):
            raise NotKafka(f"{self.address} is a web server and no Kafka broker: check the port.")

    def _broken(self, api: Api, error: OSError) -> ClientError:
        if self._speaks_tls:
            from barnabas.client.tls import refusal

            if (refused := refusal(self.address, error)) is not None:
                return refused
        if isinstance(error, ConnectionError) and not self._begun:
            return self._ended(api)
        return NoAnswer(
            f"{self.address} broke the connection at {api.name} ({error.strerror or error}): "
            "if it happens again, its log may say why."
        )

    def _unsaid(self, api: Api, version: int, error: UnencodableMessage) -> ClientError:
        match error.__cause__:
            case UnicodeEncodeError() as cause:
                text = cause.object.encode("utf-8", "backslashreplace").decode()
                return NotSendable(f"{text} is no text: Kafka's names and values are in UTF-8.")
            case struct.error():
                return NotSendable(f"A number is too large or too small for {api.name}: Kafka's has 32 bits, or 64.")
            case ValueError() as cause if "too long" in str(cause):
                return NotSendable(f"A name or value is too long for {api.name}: {cause}, and at most 32767 can be.")
        return NotOffered(
            f"{self.address} is too old for that: its newest {api.name} is of version {version} ({error})."
        )

    def _ended(self, api: Api) -> ClientError:
        if not self._begun:
            return NotKafka(
                f"{self.address} closed the connection without an answer: check the port, "
                "and security.protocol if it is right."
            )
        return NoAnswer(
            f"{self.address} closed the connection when it was asked {api.name}: "
            "it may want SASL (security.protocol and sasl.* in --command-config), or has just stopped."
        )
