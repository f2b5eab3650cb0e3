"""How a part of a request is refused: a code and, mostly, words.

The codes are Kafka's, and where Kafka sends no words there are none here; the words themselves are ours.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["NO_ERROR", "ApiError", "api_error"]


class ApiError(NamedTuple):
    code: ErrorCode
    message: str | None = None


NO_ERROR = ApiError(ErrorCode.NONE)


def api_error(error: KafkaError) -> ApiError:
    return ApiError(error.code, error.message or None)
