"""What the configuration may ask for and this version cannot do: it is refused at the start, since to go on without it
would be worse than not to start."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.configuration.listeners import SecurityProtocol
from barnabas.broker.configuration.node_config import NodeConfig

__all__ = ["CannotStart", "check_startable"]


class CannotStart(Exception):  # noqa: N818 - a state of the node
    """One sentence for each reason, with what to do."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def check_startable(config: NodeConfig) -> None:
    problems = list(_missing(config))
    if problems:
        raise CannotStart(*problems)


def _missing(config: NodeConfig) -> Iterator[str]:
    if "broker" not in config.process_roles:
        yield (
            "process.roles=controller: Barnabas has no controller without a broker yet: set "
            "process.roles=broker,controller."
        )
    if config.is_controller:
        yield from _missing_of_a_controller(config)
    else:
        yield from _missing_of_a_broker(config)
    for listener in config.listeners:
        if listener.protocol is not SecurityProtocol.PLAINTEXT:
            yield (
                f"listeners: {listener.listener} is of {listener.protocol.value}, and Barnabas serves PLAINTEXT only "
                "yet: change its protocol in listener.security.protocol.map, or leave the listener out."
            )
    if config.authorizer_class_name:
        yield (
            f"authorizer.class.name={config.authorizer_class_name}: Barnabas has no ACLs yet, and everybody might do "
            "everything: leave the key out if that is meant."
        )


def _missing_of_a_controller(config: NodeConfig) -> Iterator[str]:
    others = sorted(config.controller_quorum_voters.keys() - {config.node_id})
    if others:
        yield (
            f"controller.quorum.voters names other nodes ({', '.join(map(str, others))}), and Barnabas is a quorum of "
            "one yet: leave this node alone in it, or leave the key out."
        )
    own = {(each.host or "localhost", each.port) for each in config.advertised_controller_listeners}
    ports = {each.port for each in config.controller_listeners}
    for server in config.controller_quorum_bootstrap_servers:
        if (server.host, server.port) not in own and server.port not in ports:
            yield (
                f"controller.quorum.bootstrap.servers={server.host}:{server.port} is no controller listener of this "
                "node, and Barnabas is a quorum of one yet: name its own, or leave the key out."
            )


def _missing_of_a_broker(config: NodeConfig) -> Iterator[str]:
    name = config.values["controller.listener.names"][0].upper()
    if config.protocols[name] is not SecurityProtocol.PLAINTEXT:
        yield (
            f"controller.listener.names: {name} is of {config.protocols[name].value}, and Barnabas speaks PLAINTEXT "
            "only with its controllers yet: change it in listener.security.protocol.map, and at the controllers."
        )
