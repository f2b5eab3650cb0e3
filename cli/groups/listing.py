"""Lists of groups: names alone, for scripts, or a table with states and types."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cli.failures import WrongUsage
from barnabas.cli.groups.arguments import CONSUMER_KIND, SHARE_KIND, STREAMS_KIND, Wanted
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster
from barnabas.client.groups import CLASSIC, CONSUMER, CONSUMER_PROTOCOL, SHARE, STREAMS, ListedGroup, list_groups

__all__ = ["groups_of_kind", "list_them", "names_of"]

_STATES_OF_CONSUMERS = (
    "Assigning",
    "CompletingRebalance",
    "Dead",
    "Empty",
    "PreparingRebalance",
    "Reconciling",
    "Stable",
)
_STATES = {
    CONSUMER_KIND: _STATES_OF_CONSUMERS,
    SHARE_KIND: ("Dead", "Empty", "Stable"),
    STREAMS_KIND: ("Assigning", "Dead", "Empty", "NotReady", "Reconciling", "Stable"),
}
_TYPES = {CONSUMER_KIND: (CLASSIC, CONSUMER), SHARE_KIND: (SHARE,), STREAMS_KIND: (STREAMS,)}
_ALL_TYPES = (CLASSIC, CONSUMER, SHARE, STREAMS)


def groups_of_kind(
    cluster: Cluster, kind: str, *, states: Iterable[str] = (), types: Iterable[str] = ()
) -> list[ListedGroup]:
    found = list_groups(cluster, states=states, types=types or _TYPES[kind])
    # A classic group may be of other things than consumers, such as workers of Kafka Connect.
    return [each for each in found if each.type != CLASSIC or each.protocol in ("", CONSUMER_PROTOCOL)]


def names_of(cluster: Cluster, wanted: Wanted) -> list[str]:
    """The groups that are named, or all of the kind."""
    return wanted.groups or [each.name for each in groups_of_kind(cluster, wanted.kind)]


def list_them(cluster: Cluster, output: Output, wanted: Wanted) -> None:
    options = wanted.options
    if options.all_types:
        groups = _of_all_types(cluster, wanted)
        columns = ["group", "type", "protocol"]
    else:
        states = _chosen(options.state, _STATES[wanted.kind], "states")
        groups = groups_of_kind(
            cluster, wanted.kind, states=states, types=_chosen(options.type, _TYPES[wanted.kind], "types")
        )
        groups = [each for each in groups if options.protocol in (None, each.protocol)]
        columns = ["group"] + ["type"] * (options.type is not None) + ["state"] * (options.state is not None)
    rows = [{"group": each.name, "type": each.type, "state": each.state, "protocol": each.protocol} for each in groups]
    if output.as_json:
        output.json(rows)
    elif columns == ["group"]:
        for row in rows:
            output.line(row["group"])
    else:
        output.table(columns, [[row[column] or None for column in columns] for row in rows])


def _of_all_types(cluster: Cluster, wanted: Wanted) -> list[ListedGroup]:
    """As kafka-groups.sh filters."""
    options = wanted.options
    if options.state is not None:
        raise WrongUsage("--state goes without --all-types")
    if options.type is not None and (options.consumer or options.share or options.streams):
        raise WrongUsage("--group-type goes without --consumer, --share and --streams")
    if options.protocol is not None and (options.consumer or options.share or options.streams):
        raise WrongUsage("--protocol goes without --consumer, --share and --streams")
    groups = list_groups(cluster)
    if options.consumer:
        return [each for each in groups if each.protocol in ("", CONSUMER_PROTOCOL) or each.type == CONSUMER]
    types = _chosen(options.type, _ALL_TYPES, "types")
    if wanted.kind != CONSUMER_KIND:
        types = _TYPES[wanted.kind]
    return [
        each
        for each in groups
        if (not types or each.type in types) and (options.protocol is None or each.protocol == options.protocol)
    ]


def _chosen(text: str | None, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The names, as Kafka writes them."""
    if not text:
        return ()
    by_name = {name.lower(): name for name in known}
    chosen = []
    for word in text.split(","):
        name = by_name.get(word.strip().lower().replace("_", ""))
        if name is None:
            raise WrongUsage(f"{word.strip()} is none of the {what} {', '.join(known)}")
        chosen.append(name)
    return tuple(chosen)
