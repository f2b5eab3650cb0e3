"""`barnabas cluster api-versions`: what kafka-broker-api-versions.sh does, with its lines."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed
from barnabas.cli.output import Output, add_output_arguments
from barnabas.client.cluster import Node
from barnabas.client.errors import ClientError
from barnabas.protocol.apis import APIS, Api

__all__ = ["add_arguments", "line_of", "run"]

Offered = Mapping[int, tuple[int, int]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    told = []
    failures = 0
    with connect(arguments) as cluster:
        for node in cluster.nodes:
            try:
                offered = cluster.offered_by(node.node_id)
            except ClientError as error:
                failures += 1
                told.append({**_node_told(node), "error": str(error)})
                output.line(f"{_name(node)} -> ERROR: {error}")
                continue
            told.append({**_node_told(node), "apis": [_told(key, offered[key]) for key in sorted(offered)]})
            output.line(f"{_name(node)} -> {text_of(offered)}")
    if output.as_json:
        output.json(told)
    if failures:
        raise CommandFailed(f"{failures} of {len(told)} brokers did not answer: barnabas doctor says why.")


def _name(node: Node) -> str:
    host, port = node.address
    return f"{host}:{port} (id: {node.node_id} rack: {node.rack or 'null'} isFenced: false)"


def _node_told(node: Node) -> dict[str, object]:
    return {"id": node.node_id, "host": node.address.host, "port": node.address.port, "rack": node.rack}


def _told(key: int, versions: tuple[int, int]) -> dict[str, object]:
    api = APIS.get(key)
    return {
        "key": key,
        "name": api.name if api else None,
        "min_version": versions[0],
        "max_version": versions[1],
        "usable": _usable(api, versions) if api else None,
    }


def text_of(offered: Offered) -> str:
    """All APIs for clients, those too that the broker does not offer."""
    for_clients = {key for key, api in APIS.items() if "broker" in api.listeners}
    lines = ",\n\t".join(line_of(key, offered.get(key)) for key in sorted({*offered, *for_clients}))
    return f"(\n\t{lines}\n)"


def line_of(key: int, versions: tuple[int, int] | None) -> str:
    api = APIS.get(key)
    name = api.name if api else "UNKNOWN"
    if versions is None:
        return f"{name}({key}): UNSUPPORTED"
    first, last = versions
    text = f"{name}({key}): {first if first == last else f'{first} to {last}'}"
    if api is None:
        return text
    if api.last < first:
        return f"{text} [unusable: node too new]"
    if last < api.first:
        return f"{text} [unusable: node too old]"
    return f"{text} [usable: {_usable(api, versions)}]"


def _usable(api: Api, versions: tuple[int, int]) -> int | None:
    newest = min(api.last, versions[1])
    return newest if newest >= max(api.first, versions[0]) else None
