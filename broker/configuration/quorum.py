"""The addresses of a node: its listeners and what others are told of them, its controllers, and what Kafka demands of
them for each role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.broker.configuration.addresses import Address, Voter, parse_bootstrap_server, parse_voter
from barnabas.broker.configuration.key import as_text
from barnabas.broker.configuration.keys import KEYS
from barnabas.broker.configuration.listeners import (
    ANYWHERE,
    Endpoint,
    SecurityProtocol,
    advertised_controllers,
    parse_listeners,
    parse_protocol,
    protocols_by_listener,
)
from barnabas.broker.configuration.values import HIDDEN, Values, wrong
from barnabas.protocol.java_text import trim

__all__ = ["Addresses", "check_addresses", "read_addresses"]

QUORUM = "controller.quorum.voters or controller.quorum.bootstrap.servers"
CONTROLLERS = "controller.listener.names"


class Addresses(NamedTuple):
    """What the keys of listeners and of the quorum come to together."""

    listeners: tuple[Endpoint, ...]
    controller_listeners: tuple[Endpoint, ...]
    advertised_listeners: tuple[Endpoint, ...]
    """The broker's; where advertised.listeners is not set, those it listens on."""
    advertised_controller_listeners: tuple[Endpoint, ...]
    protocols: dict[str, SecurityProtocol]
    inter_broker_listener_name: str
    inter_broker_protocol: SecurityProtocol
    early_start_listeners: frozenset[str]
    controller_quorum_voters: dict[int, Voter]
    controller_quorum_bootstrap_servers: tuple[Address, ...]


class _AddressError(ValueError):
    """The message is a problem as it is shown."""


def read_addresses(values: Values) -> Addresses:
    """ValueError, with a whole sentence, for the first that cannot be read."""
    names = values[CONTROLLERS]
    protocols = _protocols(values)
    listeners = _read_listeners(values, "listeners", protocols)
    told = listeners
    if values["advertised.listeners"] is not None:
        told = _read_listeners(values, "advertised.listeners", protocols)
    voters = {one.node_id: one for one in map(parse_voter, values["controller.quorum.voters"])}
    controllers_told = [one for one in told if one.listener in names] if values["advertised.listeners"] else []
    try:
        controllers = advertised_controllers(
            names,
            controllers_told,
            [one for one in listeners if one.listener in names],
            voters,
            values["node.id"],
        )
    except ValueError as error:
        raise _AddressError(f"controller.quorum.voters is wrong: {error}.") from None
    inter_broker_name, inter_broker_protocol = _inter_broker(values, protocols)
    return Addresses(
        listeners,
        tuple(one for one in listeners if one.listener in names),
        tuple(one for one in told if one.listener not in names),
        controllers,
        protocols,
        inter_broker_name,
        inter_broker_protocol,
        _early_listeners(values, listeners),
        voters,
        tuple(map(parse_bootstrap_server, values["controller.quorum.bootstrap.servers"])),
    )


def _protocols(values: Values) -> dict[str, SecurityProtocol]:
    name = "listener.security.protocol.map"
    try:
        return protocols_by_listener(values[name], values.is_set(name), values["listeners"], values[CONTROLLERS])
    except ValueError as error:
        raise _AddressError(f"{name if values.is_set(name) else 'listeners'} is wrong: {error}.") from None


def _read_listeners(values: Values, name: str, protocols: dict[str, SecurityProtocol]) -> tuple[Endpoint, ...]:
    try:
        return parse_listeners(values[name], protocols, distinct_ports=name == "listeners")
    except ValueError as error:
        raise _AddressError(f"{name} is wrong: {error}.") from None


def _inter_broker(values: Values, protocols: dict[str, SecurityProtocol]) -> tuple[str, SecurityProtocol]:
    name, by_protocol = "inter.broker.listener.name", "security.inter.broker.protocol"
    listener = values[name]
    if listener is None:
        protocol = parse_protocol(values[by_protocol])
        return protocol.value, protocol
    if values.is_set(by_protocol):
        raise _AddressError(f"{name} and {by_protocol} are both set: leave out one of them.")
    if listener.upper() not in protocols:
        raise _AddressError(wrong(name, listener, "must have a protocol in listener.security.protocol.map"))
    return listener.upper(), protocols[listener.upper()]


def _early_listeners(values: Values, listeners: tuple[Endpoint, ...]) -> frozenset[str]:
    known = {one.listener for one in listeners}
    given = values["early.start.listeners"]
    if given is None:
        return frozenset(known & set(values[CONTROLLERS]))
    names = frozenset(trim(one) for one in given if trim(one))
    if not names <= known:
        raise _AddressError(wrong("early.start.listeners", given, f"must be among {', '.join(sorted(known))}"))
    return names


def check_addresses(values: Values) -> Iterator[str]:
    try:
        addresses = read_addresses(values)
    except _AddressError as error:
        yield str(error)
        return
    roles = set(values["process.roles"])
    if roles == {"broker"}:
        yield from _check_broker_alone(values, addresses)
    elif roles == {"controller"}:
        yield from _check_controller_alone(values, addresses)
    if "controller" in roles and (not values.alone or values.is_set(CONTROLLERS)):
        yield from _check_controller(values, addresses)
    if "broker" in roles:
        yield from _check_broker(values, addresses)
    for one in addresses.advertised_listeners:
        if one.host == ANYWHERE:
            yield _unreachable(values, one)
    for one in addresses.advertised_controller_listeners:
        if one.host == ANYWHERE:
            yield _unreachable(values, one)
    yield from _check_inter_broker_mechanism(values, addresses)
    for one in addresses.listeners:
        yield from _check_listener_values(values, one)


def _check_listener_values(values: Values, endpoint: Endpoint) -> Iterator[str]:
    """What a listener has for itself, in front of it perhaps the name of a mechanism. Nobody looks at what is set for
    listeners that there are not."""
    for name, text in values.texts.items():
        if not name.startswith(endpoint.config_prefix):
            continue
        own = name.removeprefix(endpoint.config_prefix)
        key = KEYS.get(own) or KEYS.get(own.partition(".")[2])
        if key is None or key.dynamic_only:
            continue
        try:
            key.parse(text)
        except ValueError as error:
            yield wrong(name, HIDDEN if key.sensitive else text, str(error))


def _unreachable(values: Values, endpoint: Endpoint) -> str:
    name = "advertised.listeners" if values["advertised.listeners"] is not None else "listeners"
    return (
        f"{name} has {endpoint.listener}://{ANYWHERE}:{endpoint.port}, which nobody can connect to: set "
        f"advertised.listeners to an address of this machine."
    )


def _check_quorum(values: Values) -> Iterator[str]:
    if not values["controller.quorum.voters"] and not values["controller.quorum.bootstrap.servers"]:
        yield f"process.roles={as_text(values['process.roles'])} needs controllers: set {QUORUM}."


def _check_broker_alone(values: Values, addresses: Addresses) -> Iterator[str]:
    names = values[CONTROLLERS]
    yield from _check_quorum(values)
    if values["node.id"] in addresses.controller_quorum_voters:
        yield wrong(
            "node.id", values["node.id"], "must not be in controller.quorum.voters, since this node is no controller"
        )
    if addresses.controller_listeners:
        yield wrong(CONTROLLERS, names, "must not be among listeners, since this node is no controller")
    for name in names:
        # Kafka adds names as they are written and looks for them in capitals.
        if name.upper() not in addresses.protocols:
            yield wrong(
                CONTROLLERS, names, f"must have a protocol: add {name}:PLAINTEXT to listener.security.protocol.map"
            )
    if values["controller.quorum.auto.join.enable"]:
        yield wrong("controller.quorum.auto.join.enable", "true", "must be false, since this node is no controller")


def _check_controller_alone(values: Values, addresses: Addresses) -> Iterator[str]:
    yield from _check_quorum(values)
    if len(addresses.advertised_controller_listeners) != len(addresses.listeners):
        yield wrong("listeners", values["listeners"], f"must be those of {CONTROLLERS}, since this node is no broker")
    named = values["inter.broker.listener.name"]
    if named is not None and addresses.inter_broker_listener_name in values[CONTROLLERS]:
        yield wrong(CONTROLLERS, values[CONTROLLERS], f"must not have inter.broker.listener.name={named} among it")


def _check_controller(values: Values, addresses: Addresses) -> Iterator[str]:
    names, voters = values[CONTROLLERS], addresses.controller_quorum_voters
    if voters and values["node.id"] not in voters:
        yield wrong(
            "controller.quorum.voters", values["controller.quorum.voters"], f"must have node {values['node.id']}"
        )
    if not addresses.advertised_controller_listeners or not set(names) <= {one.listener for one in addresses.listeners}:
        yield wrong(CONTROLLERS, names, "must be among the names of listeners")


def _check_broker(values: Values, addresses: Addresses) -> Iterator[str]:
    advertised = {one.listener for one in addresses.advertised_listeners}
    bound = {one.listener for one in addresses.listeners}
    if not advertised:
        yield f"This broker has no listener for clients: all are in {CONTROLLERS}."
        return
    if addresses.inter_broker_listener_name not in advertised:
        yield (
            f"The listener of brokers among themselves, {addresses.inter_broker_listener_name}, is not advertised: "
            f"set inter.broker.listener.name to one of {', '.join(sorted(advertised))}."
        )
    if not advertised <= bound:
        missing = ", ".join(sorted(advertised - bound))
        yield wrong(
            "advertised.listeners", values["advertised.listeners"], f"must be among listeners, and {missing} is not"
        )


def _check_inter_broker_mechanism(values: Values, addresses: Addresses) -> Iterator[str]:
    if not addresses.inter_broker_protocol.uses_sasl:
        return
    name = "sasl.enabled.mechanisms"
    own = values.texts.get(f"listener.name.{addresses.inter_broker_listener_name.lower()}.{name}")
    try:
        mechanisms = values[name] if own is None else KEYS[name].parse(own)
    except ValueError:
        return
    wanted = values["sasl.mechanism.inter.broker.protocol"]
    if wanted not in mechanisms:
        yield wrong("sasl.mechanism.inter.broker.protocol", wanted, f"must be among {name}={as_text(mechanisms)}")
