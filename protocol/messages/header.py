"""The headers of requests and responses."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, data, field, int16, int32, string


@data(versions="1-2", flexible="2+")
class RequestHeader(Data):
    request_api_key: int16 = field()
    request_api_version: int16 = field()
    correlation_id: int32 = field()
    client_id: string | None = field(classic=True)


@data(versions="0-1", flexible="1+")
class ResponseHeader(Data):
    correlation_id: int32 = field()
