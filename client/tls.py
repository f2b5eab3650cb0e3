"""Kafka's ssl.* properties as a context of Python's: keys and certificates in PEM, in files or in the property; and
what goes wrong with TLS, as a sentence."""

from __future__ import annotations

import socket
import ssl
import tempfile
from pathlib import Path

from barnabas.client.address import Address
from barnabas.client.errors import MisconfiguredClient, NoAnswer, NotKafka
from barnabas.client.properties import ClientProperties

__all__ = ["handshake", "refusal", "tls_context"]

_WANTS_CERTIFICATE = "CERTIFICATE"
"""In the reasons of all alerts that are about one."""


def tls_context(properties: ClientProperties) -> ssl.SSLContext:
    """MisconfiguredClient where a store is Java's own, which Python cannot read, or not readable at all."""
    context = ssl.create_default_context()
    if not properties.get("ssl.endpoint.identification.algorithm", "https"):
        context.check_hostname = False
    try:
        _trust(context, properties)
        _identify(context, properties)
    except (ssl.SSLError, OSError) as error:
        raise MisconfiguredClient(
            f"The certificates of the ssl.* properties cannot be used ({error}): name files in PEM."
        ) from None
    return context


def _trust(context: ssl.SSLContext, properties: ClientProperties) -> None:
    if certificates := properties.get("ssl.truststore.certificates"):
        context.load_verify_locations(cadata=certificates)
    elif path := properties.get("ssl.truststore.location"):
        _must_be_pem(properties, "ssl.truststore")
        context.load_verify_locations(cafile=path)


def _identify(context: ssl.SSLContext, properties: ClientProperties) -> None:
    password = properties.get("ssl.key.password") or None
    if chain := properties.get("ssl.keystore.certificate.chain"):
        # Python takes a key from a file alone; this one is gone again when it has been read.
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(properties.get("ssl.keystore.key") + "\n" + chain + "\n")
            file.flush()
            context.load_cert_chain(file.name, password=password)
    elif path := properties.get("ssl.keystore.location"):
        _must_be_pem(properties, "ssl.keystore")
        context.load_cert_chain(path, password=password or properties.get("ssl.keystore.password") or None)


def _must_be_pem(properties: ClientProperties, store: str) -> None:
    path = properties.get(f"{store}.location")
    if properties.get(f"{store}.type", "JKS").upper() != "PEM" and b"-----BEGIN" not in Path(path).read_bytes():
        raise MisconfiguredClient(
            f"{store}.location={path} is a keystore of Java's: export it as PEM and set {store}.type=PEM."
        )


def handshake(plain: socket.socket, address: Address, properties: ClientProperties) -> ssl.SSLSocket:
    context = tls_context(properties)
    try:
        return context.wrap_socket(plain, server_hostname=address.host)
    except ssl.SSLCertVerificationError as error:
        raise NotKafka(
            f"The certificate of {address} is not trusted ({error.verify_message}): "
            "name the one that signed it in ssl.truststore.location."
        ) from None
    except TimeoutError:
        raise NoAnswer(f"{address} does not answer by TLS: is security.protocol right for this port?") from None
    except (ssl.SSLError, OSError) as error:
        raise NotKafka(
            f"{address} speaks no TLS, or another one ({getattr(error, 'reason', None) or error}): "
            "is security.protocol right for this port?"
        ) from None


def refusal(address: Address, error: OSError) -> NotKafka | None:
    """Of a connection that was there; None for what has nothing to do with TLS."""
    if not isinstance(error, ssl.SSLError):
        return None
    # In TLS 1.3 a server looks at a client's certificate when the client believes to be connected.
    if _WANTS_CERTIFICATE in (error.reason or ""):
        return NotKafka(
            f"{address} wants to see a certificate of this client's, or another one: name it in ssl.keystore.location."
        )
    return NotKafka(f"{address} ends TLS ({error.reason or error}): see its log.")
