"""What APIs ask of the cluster as its committed metadata has it: partitions, their leaders, and where brokers are."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.broker.configuration.describe import topic_config
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.connection import Connection
from barnabas.broker.partitions import Partitions
from barnabas.coordination.cluster.configs import topic_resource
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.replication.partition import Partition
from barnabas.storage.topic_config import TopicConfig

__all__ = ["ClusterView"]


class ClusterView:
    """The other half of what everybody who has the node may call. The node sets these attributes."""

    node_id: int
    config: NodeConfig
    image: ClusterImage
    partitions: Partitions

    # Topics and partitions

    def topic_config(self, topic: str) -> TopicConfig:
        return topic_config(self.config, self.image.configs.of(topic_resource(topic)))

    def has_partition(self, topic: str, number: int) -> bool:
        known = self.image.topics.by_name.get(topic)
        return known is not None and number in known.partitions

    def partition(self, topic: str, number: int) -> Partition:
        """This node's replica; KafkaError says why there is none to use."""
        return self.partitions.get(topic, number)

    def leader_of(self, topic: str, number: int) -> tuple[int, int]:
        """Its id and epoch; -1 for both where nobody leads."""
        known = self.image.topics.by_name.get(topic)
        state = known.partitions.get(number) if known is not None else None
        return (-1, -1) if state is None else (state.leader, state.leader_epoch)

    # Brokers

    def address_for(self, connection: Connection) -> tuple[str, int]:
        """What this node tells the client of a connection to connect to: what it did connect to, unless configured."""
        if "advertised.listeners" in self.config.texts:
            for endpoint in self.config.advertised_listeners:
                if endpoint.listener == connection.listener:
                    return endpoint.host or connection.local[0], endpoint.port
        host, port = connection.local[:2]
        return host.removeprefix("::ffff:"), port

    def brokers_for(self, connection: Connection) -> Iterator[tuple[int, str, int, str | None]]:
        """Who can be reached, through the listener that the client came in by: id, host, port, rack."""
        for broker_id, broker in sorted(self.image.brokers.items()):
            if broker_id == self.node_id:
                yield broker_id, *self.address_for(connection), broker.rack
                continue
            for endpoint in broker.endpoints:
                if endpoint.name == connection.listener and not broker.fenced:
                    yield broker_id, endpoint.host, endpoint.port, broker.rack
