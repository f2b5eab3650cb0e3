"""AlterClientQuotas and DescribeClientQuotas."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.twins import Twins

EXACT, DEFAULT, ANY = 0, 1, 2

Limit = tuple[str, float | None]


def quota(*limits: Limit, **entity: str | None) -> dict[str, Any]:
    """None: the limit goes, the entity is the default one."""
    return {
        "Entity": [{"EntityType": kind.replace("_", "-"), "EntityName": name} for kind, name in entity.items()],
        "Ops": [{"Key": key, "Value": value or 0.0, "Remove": value is None} for key, value in limits],
    }


def alter(twins: Twins, *entries: dict[str, Any]) -> None:
    for only in (True, False):
        twins.ask("AlterClientQuotas", Entries=entries, ValidateOnly=only)


def component(kind: str, match: int, name: str | None = None) -> dict[str, Any]:
    return {"EntityType": kind, "MatchType": match, "Match": name}


def see(twins: Twins, *components: dict[str, Any]) -> None:
    for strict in (False, True):
        twins.see("DescribeClientQuotas", Components=components, Strict=strict)


@scenario("AlterClientQuotas")
def are_set_and_removed(twins: Twins) -> None:
    user = twins.name("user")
    alter(
        twins,
        quota(("producer_byte_rate", 1000.0), ("consumer_byte_rate", 2000.0), user=user),
        quota(("request_percentage", 12.5), user=user, client_id="c"),
    )
    see(twins, component("user", EXACT, user))
    alter(twins, quota(("producer_byte_rate", None), ("consumer_byte_rate", 1.0), user=user))
    alter(twins, quota(("producer_byte_rate", None), user=user))
    see(twins, component("user", EXACT, user))
    alter(twins, quota(("consumer_byte_rate", None), user=user), quota(user=user))
    see(twins, component("user", EXACT, user))


@scenario("AlterClientQuotas")
def are_set_for_all_others(twins: Twins) -> None:
    alter(
        twins,
        quota(("controller_mutation_rate", 3.0), client_id=None),
        quota(("connection_creation_rate", 5.0), ip="127.0.0.9"),
        quota(("connection_creation_rate", 50.0), ip=None),
    )
    try:
        see(twins)
        for kind in ("user", "client-id", "ip"):
            for match in (DEFAULT, ANY):
                see(twins, component(kind, match))
    finally:
        alter(twins, quota(("controller_mutation_rate", None), client_id=None))
        alter(twins, *(quota(("connection_creation_rate", None), ip=ip) for ip in ("127.0.0.9", None)))
        see(twins)


@scenario("AlterClientQuotas")
def are_refused(twins: Twins) -> None:
    rate = ("producer_byte_rate", 1.0)
    for wrong in (
        quota(("connection_creation_rate", 5.0), ip="no.such.host.invalid"),
        quota(("connection_creation_rate", 1.5), ip="127.0.0.1"),
        quota(("connection_creation_rate", 5.0), ip="127.0.0.1", user="both"),
        quota(("producer_byte_rate", 0.0), user="zero"),
        quota(("producer_byte_rate", -1.0), user="negative"),
        quota(("producer_byte_rate", 1.5), user="broken"),
        quota(("producer_byte_rate", 1e300), user="huge"),
        quota(("producer_byte_rate", float("nan")), user="nan"),
        quota(("nonsense", 1.0), user="odd"),
        quota(("nonsense", None), user="odd"),
        quota(("", 1.0), user="odd"),
        quota(rate, ip="127.0.0.2"),
        quota(rate, nothing="x"),
        quota(rate, user=""),
        quota(rate, client_id=""),
        quota(rate),
        quota(rate, ("producer_byte_rate", 2.0), user="twice"),
        {"Entity": [{"EntityType": "user", "EntityName": "x"}] * 2, "Ops": quota(rate)["Ops"]},
    ):
        alter(twins, wrong)
    alter(twins)


@scenario("AlterClientQuotas")
def are_set_each_for_itself(twins: Twins) -> None:
    user = twins.name("user")
    good = quota(("producer_byte_rate", 1.0), user=user)
    alter(twins, good, quota(("nonsense", 1.0), user="odd"), quota(("producer_byte_rate", 1.0), nothing="x"))
    see(twins, component("user", EXACT, user))


@scenario("DescribeClientQuotas")
def are_described_by_what_they_match(twins: Twins) -> None:
    user, other = twins.name("user"), twins.name("other")
    alter(
        twins,
        quota(("request_percentage", 10.0), user=user),
        quota(("request_percentage", 20.0), user=user, client_id=other),
        quota(("request_percentage", 30.0), client_id=other),
    )
    see(twins, component("user", EXACT, user))
    see(twins, component("client-id", EXACT, other))
    see(twins, component("user", EXACT, user), component("client-id", EXACT, other))
    see(twins, component("user", EXACT, user), component("client-id", ANY))
    see(twins, component("user", EXACT, twins.name("nobody")))


@scenario("DescribeClientQuotas")
def are_not_described_by_what_there_is_not(twins: Twins) -> None:
    for components in (
        [component("nothing", ANY)],
        [component("", ANY)],
        [component("user", 7)],
        [component("user", -1)],
        [component("user", EXACT)],
        [component("user", EXACT, "")],
        [component("user", DEFAULT, "named all the same")],
        [component("user", ANY, "named all the same")],
        [component("user", ANY), component("user", ANY)],
        [component("ip", ANY), component("user", ANY)],
        [component("user", ANY), component("nothing", ANY)],
    ):
        see(twins, *components)
