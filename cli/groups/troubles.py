"""What is wrong with a group, for the person who named it."""

from __future__ import annotations

import difflib

from barnabas.cli.output import Output
from barnabas.cli.refusals import sentence_of
from barnabas.client.cluster import Cluster
from barnabas.client.groups import CLASSIC, CONSUMER, list_groups
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["complain", "trouble_with"]


def complain(output: Output, sentence: str) -> None:
    """Beside the results: one group that is not well does not hide the others."""
    output.note(f"barnabas groups: {sentence}")


def trouble_with(cluster: Cluster, group: str, error: KafkaError) -> str:
    if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
        return f"{group}: {sentence_of(error)}"
    types = {each.name: each.type for each in list_groups(cluster)}
    kind = types.get(group)
    if kind is None:
        near = difflib.get_close_matches(group, types, 1)
        return f"There is no group {group}" + (f": is {near[0]} meant?" if near else "; see barnabas groups --list.")
    if kind in (CLASSIC, CONSUMER):
        return f"{group} is a group of consumers: leave --share and --streams out."
    return f"{group} is a {kind.lower()} group: add --{kind.lower()}."
