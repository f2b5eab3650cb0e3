"""The controllers with which a quorum begins, as --initial-controllers names them: ID@HOST:PORT:DIRECTORY-ID,..."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv6Address
from typing import NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.protocol.records.control import Endpoint, KRaftVersionFeature, VotersRecord, VotersRecordVoter
from barnabas.protocol.schema import Uuid

__all__ = ["InitialVoter", "parse_voters", "voters_record"]

_VOTER = re.compile(r"(?P<id>\d+)@(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:\[\]]*)):(?P<port>\d+):(?P<directory>.+)")


class InitialVoter(NamedTuple):
    node_id: int
    host: str
    port: int
    directory_id: Uuid


def parse_voters(text: str) -> list[InitialVoter]:
    voters = [_parse(each.strip()) for each in text.split(",") if each.strip()]
    if not voters:
        raise CommandFailed("--initial-controllers names nobody: write ID@HOST:PORT:DIRECTORY-ID for each controller.")
    if len({voter.node_id for voter in voters}) < len(voters):
        raise CommandFailed(f"--initial-controllers {text} names a controller twice.")
    return sorted(voters)


def _parse(text: str) -> InitialVoter:
    found = _VOTER.fullmatch(text)
    if found is None or int(found["port"]) > 65535 or int(found["id"]) >= 1 << 31:
        raise CommandFailed(
            f"{text[:200]} is no ID@HOST:PORT:DIRECTORY-ID, such as 0@example.com:8082:JEXY6aqzQY-32P5TStzaFg."
        )
    try:
        directory = Uuid.parse(found["directory"])
    except ValueError as error:
        raise CommandFailed(f"{text[:200]} has no directory id at its end: {error}.") from None
    host = _as_java_writes(found["v6"]) if found["v6"] else found["host"]
    return InitialVoter(int(found["id"]), host, int(found["port"]), directory)


def _as_java_writes(address: str) -> str:
    """0:0:0:0:0:0:0:1 for ::1."""
    try:
        groups = IPv6Address(address).exploded.split(":")
    except ValueError:
        raise CommandFailed(f"[{address}] is no IPv6 address: leave out the brackets around a name.") from None
    return ":".join(f"{int(group, 16):x}" for group in groups)


def voters_record(voters: Sequence[InitialVoter], listener: str) -> VotersRecord:
    return VotersRecord(
        version=0,
        voters=[
            VotersRecordVoter(
                voter_id=voter.node_id,
                voter_directory_id=voter.directory_id,
                endpoints=[Endpoint(name=listener, host=voter.host, port=voter.port)],
                kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
            )
            for voter in voters
        ],
    )
