"""Every key that Kafka 4.3.1 knows for a broker, and Barnabas's own, a file for each subject.

`NodeKeys` has those that are one attribute of a `NodeConfig`; KEYS has all. What a file lists under WITHOUT_EFFECT is
checked as Kafka checks it and then left alone, and the start says so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import chain

from barnabas.broker.configuration.key import Key
from barnabas.broker.configuration.keys import (
    groups,
    log,
    metrics,
    network,
    node,
    own,
    quotas,
    remote,
    security,
    shares,
    topics,
    transactions,
)

__all__ = ["ATTRIBUTES", "AUTHORIZER_KEYS", "FORMER_KEYS", "FREE_PREFIXES", "KEYS", "NodeKeys"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class NodeKeys(
    node.NodeKeys,
    network.NetworkKeys,
    log.LogKeys,
    topics.TopicsKeys,
    groups.GroupsKeys,
    shares.SharesKeys,
    transactions.TransactionsKeys,
    quotas.QuotasKeys,
    security.SecurityKeys,
    metrics.MetricsKeys,
    own.OwnKeys,
):
    """Every attribute that is the value of one key, by the key's name with underscores."""


ATTRIBUTES: dict[str, Key] = {
    one.name: Key(one.name.replace("_", "."), *one.metadata["key"]) for one in fields(NodeKeys)
}
"""Every attribute with its key."""

_OTHERS = chain(node.OTHERS, network.OTHERS, log.OTHERS)
_WITHOUT_EFFECT = chain.from_iterable(
    file.WITHOUT_EFFECT for file in (node, network, log, topics, groups, shares, quotas, security, metrics, remote)
)

KEYS: dict[str, Key] = {key.name: key for key in sorted(chain(ATTRIBUTES.values(), _OTHERS, _WITHOUT_EFFECT))}
"""Every key by its name, sorted."""

AUTHORIZER_KEYS = ("super.users", "allow.everyone.if.no.acl.found")
"""Only the authorizer knows them: to a broker of Kafka's they are keys that nobody knows, and it describes them so."""

FREE_PREFIXES = ("listener.name.", "config.providers.", "rlmm.config.", "rsm.config.")
"""Behind these Kafka passes on whatever is there."""

FORMER_KEYS = (
    "auto.include.jmx.reporter",
    "broker.id.generation.enable",
    "control.plane.listener.name",
    "controlled.shutdown.max.retries",
    "controlled.shutdown.retry.backoff.ms",
    "delegation.token.master.key",
    "enable.zookeeper.",
    "inter.broker.protocol.version",
    "leader.imbalance.per.broker.percentage",
    "log.message.downconversion.enable",
    "log.message.format.version",
    "log.message.timestamp.difference.max.ms",
    "offsets.commit.required.acks",
    "password.encoder.",
    "reserved.broker.max.id",
    "zookeeper.",
)
"""Keys of older Kafkas, or how they begin: 4.3.1 knows them no more, and files still have them."""
