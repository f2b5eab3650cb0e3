"""What --add-config, --add-config-file and --delete-config say, read as kafka-configs.sh reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from barnabas.cli.failures import WrongUsage
from barnabas.client.properties import read_client_properties
from barnabas.client.scram import FEWEST_ITERATIONS, MOST_ITERATIONS, Password

__all__ = ["keys_to_remove", "parse_password", "values_to_set"]

_OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"
_COMMA = re.compile("," + _OUTSIDE_BRACKETS)
_EQUALS = re.compile(r"\s*=\s*" + _OUTSIDE_BRACKETS)
_KEY = re.compile(r"[$a-zA-Z0-9._-]*")
_PASSWORD = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)")
_MANY_DIGITS = 9
_BY_KAFKAS_DEFAULT = "-1"


def values_to_set(texts: Iterable[str], file: Path | None) -> dict[str, str]:
    found = {} if file is None else read_client_properties(file, "--add-config-file")
    for text in texts:
        for pair in _without_empty_end(_COMMA.split(text)):
            parts = _EQUALS.split(pair)
            if len(parts) != 2:
                raise WrongUsage(f"{pair} is not of the form KEY=VALUE; a value with commas is KEY=[A,B].")
            found[parts[0].strip()] = re.sub(r"[\[\]]", "", parts[1]).strip()
    for key in found:
        if not _KEY.fullmatch(key):
            raise WrongUsage(f"{key} cannot be a key: letters, digits, and . _ - $ are what keys are made of.")
    return found


def keys_to_remove(texts: Iterable[str]) -> list[str]:
    return [key.strip() for text in texts for key in text.split(",")]


def parse_password(mechanism: str, text: str) -> Password:
    """`password=secret`, or `iterations=8192,password=secret`."""
    found = _PASSWORD.fullmatch(text)
    if found is None:
        raise WrongUsage(f"{mechanism} wants [password=...] or [iterations={FEWEST_ITERATIONS},password=...].")
    iterations = found[1]
    if iterations is None or iterations == _BY_KAFKAS_DEFAULT:
        return Password(found[2], FEWEST_ITERATIONS)
    if not iterations.lstrip("-") or int(iterations) < FEWEST_ITERATIONS:
        raise WrongUsage(f"{mechanism} wants {FEWEST_ITERATIONS} iterations at least, not {iterations or 'none'}.")
    if len(iterations) > _MANY_DIGITS or int(iterations) > MOST_ITERATIONS:
        raise WrongUsage(f"{mechanism} takes {MOST_ITERATIONS} iterations at most, not {iterations}.")
    return Password(found[2], int(iterations))


def _without_empty_end(parts: list[str]) -> list[str]:
    """A comma at the end divides nothing."""
    while parts and not parts[-1]:
        parts.pop()
    return parts
