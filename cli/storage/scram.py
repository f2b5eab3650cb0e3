"""--add-scram 'SCRAM-SHA-256=[name=alice,password=secret]': a user that is there before the first start."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.protocol.records.cluster_metadata import UserScramCredentialRecord

__all__ = ["parse_scram"]

_LEAST_ITERATIONS, _MOST_ITERATIONS = 4096, 16384
_SALT_BYTES = 24
_WRITE = "write --add-scram 'SCRAM-SHA-256=[name=alice,password=alice-secret]'"


class _Mechanism(NamedTuple):
    number: int
    digest: str


_MECHANISMS = {"SCRAM-SHA-256": _Mechanism(1, "sha256"), "SCRAM-SHA-512": _Mechanism(2, "sha512")}


def parse_scram(text: str) -> UserScramCredentialRecord:
    name, equals, config = text.strip().partition("=")
    mechanism = _MECHANISMS.get(name)
    if not equals or mechanism is None or not (config.startswith("[") and config.endswith("]")):
        raise CommandFailed(f"{text[:40]}: that names no mechanism of {', '.join(_MECHANISMS)} and a user: {_WRITE}.")
    given = dict(_pair(each) for each in config[1:-1].split(","))
    user = given.pop("name", None)
    if user is None:
        raise CommandFailed(f"--add-scram needs the user's name: {_WRITE}.")
    iterations = _iterations(given.pop("iterations", str(_LEAST_ITERATIONS)))
    salt_text, password, salted_text = (given.pop(key, None) for key in ("salt", "password", "saltedpassword"))
    if given:
        raise CommandFailed(f"--add-scram does not know {', '.join(sorted(given))}: {_WRITE}.")
    salt = secrets.token_bytes(_SALT_BYTES) if salt_text is None else _decoded("salt", salt_text)
    if password is not None:
        salted = hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)
    elif salted_text is None:
        raise CommandFailed(f"--add-scram needs a password, or a saltedpassword and its salt: {_WRITE}.")
    elif salt_text is None:
        raise CommandFailed("--add-scram needs the salt of the saltedpassword: add salt=...")
    else:
        salted = _decoded("saltedpassword", salted_text)
    client_key = hmac.digest(salted, b"Client Key", mechanism.digest)
    return UserScramCredentialRecord(
        name=user,
        mechanism=mechanism.number,
        salt=salt,
        stored_key=hashlib.new(mechanism.digest, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", mechanism.digest),
        iterations=iterations,
    )


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise CommandFailed(f"--add-scram: {text[:40]} has no = in it: {_WRITE}.")
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = value[1:-1]
    return key, value


def _iterations(text: str) -> int:
    if not text.isdigit() or not _LEAST_ITERATIONS <= int(text) <= _MOST_ITERATIONS:
        raise CommandFailed(
            f"--add-scram: iterations={text} is no number from {_LEAST_ITERATIONS} to {_MOST_ITERATIONS}."
        )
    return int(text)


def _decoded(key: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise CommandFailed(f"--add-scram: the {key} is no base64.") from None
