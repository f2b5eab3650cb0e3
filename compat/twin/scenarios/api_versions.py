"""ApiVersions: what a broker speaks. Whoever asks in a version that it does not know is answered all the same."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.twins import Twins

NAMES = ("a", "Z9", "librdkafka", "apache-kafka-java", "a.b-c", "4.3.1-SNAPSHOT", "x" * 1_000)
NO_NAMES = ("", " ", "-a", "a-", ".a", "a.", "a b", "a_b", "a/b", "ü", "a\n", "a\x00", "1,2")


@scenario("ApiVersions")
def of_a_client(twins: Twins) -> None:
    twins.ask("ApiVersions", ClientSoftwareName="twin", ClientSoftwareVersion="1")


@scenario("ApiVersions")
def of_software_names(twins: Twins) -> None:
    """Versions before 3 cannot say one, and are asked nothing."""
    for name in NAMES:
        twins.another().ask("ApiVersions", ClientSoftwareName=name, ClientSoftwareVersion="1")


@scenario("ApiVersions", first=3)
def of_software_names_that_cannot_be(twins: Twins) -> None:
    for name in NO_NAMES:
        twins.ask("ApiVersions", ClientSoftwareName=name, ClientSoftwareVersion="1")


@scenario("ApiVersions", first=3)
def of_software_versions(twins: Twins) -> None:
    for version in (*NAMES, *NO_NAMES):
        twins.ask("ApiVersions", ClientSoftwareName="twin", ClientSoftwareVersion=version)


@scenario("ApiVersions", last=0)
def in_versions_that_nobody_knows(twins: Twins) -> None:
    """It is answered in version 0, with what may be asked instead."""
    for version in (5, 6, 99, 32_767):
        twins.ask("ApiVersions", at=version, ClientSoftwareName="twin", ClientSoftwareVersion="1")
    twins.ask("ApiVersions", at=0)


@scenario("ApiVersions")
def asked_again(twins: Twins) -> None:
    """Also behind other requests of the same connection."""
    conversation = twins.another()
    for name in ("ApiVersions", "Metadata", "ApiVersions"):
        fields: dict[str, Any] = (
            {"Topics": []} if name == "Metadata" else {"ClientSoftwareName": "a", "ClientSoftwareVersion": "b"}
        )
        conversation.ask(name, **fields)
