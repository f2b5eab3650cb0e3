"""An Apache Kafka that keeps ACLs and has two log directories; who comes without a name may do everything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kafka.broker import KafkaBroker

__all__ = ["strict_kafka"]


@pytest.fixture(scope="session")
def strict_kafka(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    directory = tmp_path_factory.mktemp("strict-kafka")
    config = {
        "log.dirs": f"{directory}/data,{directory}/more",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with KafkaBroker(kafka_classpath, directory, config=config) as broker:
        yield broker
