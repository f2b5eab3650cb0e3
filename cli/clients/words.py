"""The errors of the client libraries as sentences."""

from __future__ import annotations

from typing import Any

from barnabas.cli.clients.quiet import last_words
from barnabas.cli.failures import CommandFailed
from barnabas.cli.refusals import words_for
from barnabas.protocol.errors import ErrorCode

__all__ = ["failed", "more_telling", "sentence_for"]

_MORE = {
    ErrorCode.MESSAGE_TOO_LARGE: "A record is larger than the topic's max.message.bytes allows; send less, or raise it",
    ErrorCode.INVALID_TIMESTAMP: "A timestamp is out of the range that the topic accepts",
    ErrorCode.INVALID_RECORD: "The topic does not take such a record; a compacted topic wants each to have a key",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "No topic may have that name: letters, digits, dots, _ and - can be in it",
    ErrorCode.NOT_ENOUGH_REPLICAS: "Too few replicas are in sync for acks=all; start the brokers that are missing",
}


def sentence_for(error: BaseException) -> str:
    """Without a full stop. Of kafka-python, of confluent-kafka, or of anything else that came out of them."""
    code = _code_of(error)
    if code is not None:
        return f"{_MORE.get(code) or words_for(code)} [{code.name}]"
    name = type(error).__name__
    if name == "MessageSizeTooLargeError":
        return f"{_MORE[ErrorCode.MESSAGE_TOO_LARGE]} [MESSAGE_TOO_LARGE]"
    # confluent-kafka's exceptions hold an error that has words of its own.
    told: Any = error.args[0] if error.args else ""
    text = str(told.str() if callable(getattr(told, "str", None)) else told) or last_words() or name
    # librdkafka's sentences are its own; what stands before the colon names its threads and sockets.
    text = text.rpartition("]: ")[2] if text.startswith("[thrd") else text
    return f"{text.strip().rstrip('.')} ({name})"


def more_telling(first: BaseException | None, second: BaseException) -> BaseException:
    """Of two errors the one to be told: that of a record, before that of others which were in a batch with it."""
    if first is None or (_code_of(first) is None and _code_of(second) is not None):
        return second
    return first


def failed(doing: str, error: BaseException) -> CommandFailed:
    return CommandFailed(f"{doing}: {sentence_for(error)}.")


def _code_of(error: BaseException) -> ErrorCode | None:
    number: Any = getattr(error, "errno", None)
    if number is None and error.args:
        code = getattr(error.args[0], "code", None)  # confluent_kafka.KafkaException holds a KafkaError
        number = code() if callable(code) else code if isinstance(error.args[0], int) else None
    if number is None and callable(getattr(error, "code", None)):
        number = error.code()  # type: ignore[attr-defined]
    if not isinstance(number, int) or number <= 0 or isinstance(error, OSError):
        return None
    return ErrorCode(number) if number in ErrorCode._value2member_map_ else None
