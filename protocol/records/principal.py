"""What Kafka keeps in a client's principal, inside an Envelope request."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Data, data, field, string


@data(versions="0", flexible="0+")
class DefaultPrincipalData(Data):
    type: string = field()
    name: string = field()
    token_authenticated: bool = field()
