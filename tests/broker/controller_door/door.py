"""A node whose controller others can reach, and what is asked at that door most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from barnabas.broker.clock import Clock
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    ResponsePartitionData,
    TopicData,
)
from barnabas.storage.disk import Disk
from tests.broker.running import RunningNode
from tests.kafka.broker import HOST, free_ports
from tests.kafka.client import RawClient

__all__ = ["METADATA", "ControllerNode", "quorum"]

METADATA = "__cluster_metadata"


class ControllerNode(RunningNode):
    def __init__(
        self, directory: Path, *, clock: Clock | None = None, disk: Disk | None = None, **settings: str
    ) -> None:
        port, self.controller_port = free_ports(2)
        door = f"CONTROLLER://{HOST}:{self.controller_port}"
        super().__init__(
            directory,
            clock=clock,
            disk=disk,
            **{
                "listeners": f"PLAINTEXT://{HOST}:{port},{door}",
                "controller_listener_names": "CONTROLLER",
                "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "controller_quorum_bootstrap_servers": self.controllers,
                "node_id": "1",
                "process_roles": "broker,controller",
                **settings,
            },
        )

    @property
    def controllers(self) -> str:
        return f"{HOST}:{self.controller_port}"

    def controller(self) -> RawClient:
        """A client at the controller's door."""
        return RawClient(HOST, self.controller_port)


def quorum(client: RawClient) -> ResponsePartitionData:
    request = DescribeQuorumRequest(
        topics=[TopicData(topic_name=METADATA, partitions=[PartitionData(partition_index=0)])]
    )
    answer: Any = client.ask(request, 2, DescribeQuorumResponse)
    found: ResponsePartitionData = answer.topics[0].partitions[0]
    return found
