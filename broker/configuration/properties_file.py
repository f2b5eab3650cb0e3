"""server.properties as a file, and one KEY=VALUE of the command line."""

from __future__ import annotations

from pathlib import Path

from barnabas.broker.configuration.values import ConfigurationError
from barnabas.protocol.java_properties import parse_properties

__all__ = ["parse_setting", "read_properties"]


def read_properties(path: Path) -> dict[str, str]:
    """ConfigurationError, with what to do next, for a file that is not there or is none of this kind."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ConfigurationError(
            [f"There is no file {path}: check the path after --config, or leave it out."]
        ) from None
    except IsADirectoryError:
        raise ConfigurationError([f"{path} is a directory: name the server.properties in it."]) from None
    except PermissionError:
        raise ConfigurationError([f"{path} may not be read by this user: change its permissions."]) from None
    except OSError as error:
        raise ConfigurationError([f"{path} cannot be read ({error.strerror}): check the disk it is on."]) from None
    if b"\0" in data:
        raise ConfigurationError([f"{path} is not text: name a server.properties, lines of KEY=VALUE."])
    try:
        return parse_properties(data)
    except ValueError as error:
        raise ConfigurationError([f"{path} is no file of properties ({error}): write \\\\ for a backslash."]) from None


def parse_setting(text: str) -> tuple[str, str]:
    """KEY=VALUE after --set."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigurationError([f"--set {text[:100]} has no value: write --set KEY=VALUE."])
    return name.strip(), value
