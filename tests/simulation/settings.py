"""What a run is made of, and what its nodes are told."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Scenario", "settings_of"]

CLIENTS_PORT, CONTROLLER_PORT = 9092, 9093


@dataclass(frozen=True)
class Scenario:
    nodes: int = 3
    durability: str = "kafka"
    topics: int = 2
    partitions: int = 2
    rounds: int = 2
    round_s: float = 20.0
    faults_pause_s: float = 2.0
    """Between two, on average."""
    segment_bytes: int = 1 << 14
    lag_max_ms: int = 3_000

    @property
    def replicas(self) -> int:
        return min(self.nodes, 3)

    @classmethod
    def drawn(cls, generator: random.Random) -> Scenario:
        return cls(
            nodes=generator.choice([3, 3, 3, 4]),
            durability=generator.choice(["kafka", "kafka", "fsync"]),
            topics=generator.choice([1, 2]),
            partitions=generator.choice([1, 2, 3]),
            rounds=generator.choice([1, 2]),
            faults_pause_s=generator.choice([1.0, 2.0, 4.0]),
            segment_bytes=generator.choice([1 << 12, 1 << 14, 1 << 20]),
            lag_max_ms=generator.choice([1_000, 3_000, 10_000]),
        )


def settings_of(node_id: int, scenario: Scenario, data: Path) -> dict[str, str]:
    name = f"node{node_id}"
    clients = f"PLAINTEXT://{name}:{CLIENTS_PORT}"
    is_controller = node_id == 1
    return {
        "node.id": str(node_id),
        "process.roles": "broker,controller" if is_controller else "broker",
        "listeners": f"{clients},CONTROLLER://{name}:{CONTROLLER_PORT}" if is_controller else clients,
        "advertised.listeners": clients,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"node1:{CONTROLLER_PORT}",
        "log.dirs": str(data),
        "barnabas.durability": scenario.durability,
        "barnabas.recovery.process.min.bytes": str(1 << 40),
        "auto.create.topics.enable": "false",
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        "default.replication.factor": str(scenario.replicas),
        "min.insync.replicas": str(min(2, scenario.replicas)),
        "replica.lag.time.max.ms": str(scenario.lag_max_ms),
        "offsets.topic.num.partitions": "2",
        "offsets.topic.replication.factor": str(scenario.replicas),
        "log.cleaner.enable": "false",
        "file.delete.delay.ms": "1000",
        "log.segment.delete.delay.ms": "1000",
    }
