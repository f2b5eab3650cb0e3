"""What record.py lets librdkafka (through confluent-kafka) and kafka-python do, and two brokers by their means."""

# mypy: ignore-errors
from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.kafka.broker import KafkaBroker

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PATIENCE_S = 20.0


def attempt(name: str, step: Callable[[], object]) -> None:
    """A step that is refused says so, and the next one runs: a refusal is a frame worth having too."""
    try:
        step()
        print(f"ok       {name}")
    except Exception as refused:  # noqa: BLE001 (whatever the client raises)
        print(f"refused  {name}: {refused!r}"[:300])


def librdkafka(bootstrap: str, sasl: str) -> None:
    for codec in CODECS:
        attempt(f"produce {codec}", lambda codec=codec: rd_produce(bootstrap, codec))
    attempt("transactions", lambda: rd_transactions(bootstrap))
    for protocol in ("classic", "consumer"):
        attempt(f"consume {protocol}", lambda protocol=protocol: rd_consume(bootstrap, protocol))
    rd_admin(bootstrap)
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        attempt(f"sasl {mechanism}", lambda mechanism=mechanism: rd_sasl(sasl, mechanism))


def rd_produce(bootstrap: str, codec: str) -> None:
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": bootstrap, "client.id": f"golden-producer-{codec}", "compression.type": codec}
    producer = Producer({**settings, "linger.ms": 5, "enable.idempotence": codec != "none"})
    for i in range(3):
        value = "letter " * 4 + codec
        producer.produce("surveyor", value, f"k{i}", headers=[("h", b"\1\2")], timestamp=1_700_000_000_000 + i)
    assert producer.flush(PATIENCE_S) == 0


def rd_transactions(bootstrap: str) -> None:
    from confluent_kafka import Consumer, Producer, TopicPartition

    settings = {"bootstrap.servers": bootstrap, "client.id": "golden-txn"}
    producer = Producer({**settings, "transactional.id": "surveyor"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("surveyor", "committed")
    consumer = Consumer({**settings, "group.id": "rd-txn"})
    offsets = [TopicPartition("surveyor", 0, 1)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE_S)
    consumer.close()
    producer.commit_transaction(PATIENCE_S)
    producer.begin_transaction()
    producer.produce("surveyor", "aborted")
    producer.flush(PATIENCE_S)
    producer.abort_transaction(PATIENCE_S)


def rd_consume(bootstrap: str, protocol: str) -> None:
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": bootstrap, "client.id": f"golden-consumer-{protocol}"}
    settings |= {"group.id": f"rd-{protocol}", "group.protocol": protocol, "auto.offset.reset": "earliest"}
    settings |= {"enable.auto.commit": False, "fetch.wait.max.ms": 100}
    if protocol == "classic":
        settings["heartbeat.interval.ms"] = 200
    consumer = Consumer(settings)
    try:
        consumer.subscribe(["surveyor"])
        seen = 0
        deadline = time.monotonic() + PATIENCE_S
        while seen < 16 and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            seen += message is not None and message.error() is None
        consumer.commit(asynchronous=False)
        partition = TopicPartition("surveyor", 0)
        consumer.committed([partition], timeout=10)
        consumer.get_watermark_offsets(partition, timeout=10)
        consumer.offsets_for_times([TopicPartition("surveyor", 0, 1_700_000_000_001)], timeout=10)
        deadline = time.monotonic() + 0.8
        while time.monotonic() < deadline:
            consumer.poll(0.1)
        print(f"         {protocol} saw {seen}")
    finally:
        consumer.close()


def rd_sasl(bootstrap: str, mechanism: str) -> None:
    from confluent_kafka.admin import AdminClient

    settings = {"bootstrap.servers": bootstrap, "client.id": "golden-sasl", "security.protocol": "SASL_PLAINTEXT"}
    settings |= {"sasl.mechanism": mechanism, "sasl.username": "barnabas", "sasl.password": "messenger"}
    AdminClient(settings).list_topics(timeout=10)


def rd_admin(bootstrap: str) -> None:
    from confluent_kafka import (
        ConsumerGroupTopicPartitions,
        ElectionType,
        IsolationLevel,
        TopicCollection,
        TopicPartition,
    )
    from confluent_kafka.admin import (
        AclBinding,
        AclBindingFilter,
        AclOperation,
        AclPermissionType,
        AdminClient,
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
        NewPartitions,
        NewTopic,
        OffsetSpec,
        ResourcePatternType,
        ResourceType,
        ScramCredentialInfo,
        ScramMechanism,
        UserScramCredentialUpsertion,
    )

    admin = AdminClient({"bootstrap.servers": bootstrap, "client.id": "golden-admin"})
    surveyor = TopicPartition("surveyor", 0)
    topic = ConfigResource(ConfigResource.Type.TOPIC, "surveyor")
    change = ConfigResource(ConfigResource.Type.TOPIC, "surveyor")
    change.add_incremental_config(ConfigEntry("retention.ms", "86400000", incremental_operation=AlterConfigOpType.SET))
    acl = ("surveyor", ResourcePatternType.LITERAL, "User:k", "*", AclOperation.READ, AclPermissionType.ALLOW)
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)

    def each(futures: dict) -> None:
        for future in futures.values():
            future.result(PATIENCE_S)

    steps = {
        "create_topics": lambda: each(admin.create_topics([NewTopic("rd-scratch", 1, 1)])),
        "create_partitions": lambda: each(admin.create_partitions([NewPartitions("rd-scratch", 2)])),
        "list_topics": lambda: admin.list_topics(timeout=10),
        "describe_topics": lambda: each(admin.describe_topics(TopicCollection(["surveyor"]))),
        "describe_configs": lambda: each(admin.describe_configs([topic])),
        "incremental_alter_configs": lambda: each(admin.incremental_alter_configs([change])),
        "alter_configs": lambda: each(
            admin.alter_configs([ConfigResource(ConfigResource.Type.TOPIC, "surveyor", {"retention.ms": "1"})])
        ),
        "describe_cluster": lambda: admin.describe_cluster(include_authorized_operations=True).result(PATIENCE_S),
        "list_groups": lambda: admin.list_consumer_groups().result(PATIENCE_S),
        "describe_groups": lambda: each(admin.describe_consumer_groups(["rd-classic", "rd-consumer"])),
        "list_offsets": lambda: each(
            admin.list_offsets({surveyor: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED)
        ),
        "list_group_offsets": lambda: each(
            admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("rd-classic")])
        ),
        "alter_group_offsets": lambda: each(
            admin.alter_consumer_group_offsets(
                [ConsumerGroupTopicPartitions("rd-classic", [TopicPartition("surveyor", 0, 2)])]
            )
        ),
        "delete_groups": lambda: each(admin.delete_consumer_groups(["rd-classic"])),
        "create_acls": lambda: each(admin.create_acls([AclBinding(ResourceType.TOPIC, *acl)])),
        "describe_acls": lambda: admin.describe_acls(AclBindingFilter(ResourceType.TOPIC, *acl)).result(PATIENCE_S),
        "delete_acls": lambda: each(admin.delete_acls([AclBindingFilter(ResourceType.TOPIC, *acl)])),
        "alter_scram": lambda: each(
            admin.alter_user_scram_credentials([UserScramCredentialUpsertion("k", scram, b"p", b"saltsalt")])
        ),
        "describe_scram": lambda: each(admin.describe_user_scram_credentials(["k"])),
        "delete_records": lambda: each(admin.delete_records([TopicPartition("surveyor", 0, 1)])),
        "elect_leaders": lambda: admin.elect_leaders(ElectionType.PREFERRED, [surveyor]).result(PATIENCE_S),
        "delete_topics": lambda: each(admin.delete_topics(["rd-scratch"])),
    }
    for name, step in steps.items():
        attempt(name, step)


def kafka_python(bootstrap: str, sasl: str) -> None:
    for codec in CODECS:
        attempt(f"produce {codec}", lambda codec=codec: kp_produce(bootstrap, codec))
    attempt("transactions", lambda: kp_transactions(bootstrap))
    attempt("consume", lambda: kp_consume(bootstrap))
    kp_admin(bootstrap)
    for mechanism in ("PLAIN", "SCRAM-SHA-256"):
        attempt(f"sasl {mechanism}", lambda mechanism=mechanism: kp_sasl(sasl, mechanism))


def kp_produce(bootstrap: str, codec: str) -> None:
    from kafka import KafkaProducer

    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        client_id=f"golden-producer-{codec}",
        compression_type=None if codec == "none" else codec,
        linger_ms=5,
    )
    try:
        for i in range(3):
            value = b"letter " * 4 + codec.encode()
            producer.send("frieda", value, b"k%d" % i, headers=[("h", b"\1\2")], timestamp_ms=1_700_000_000_000 + i)
        producer.flush(PATIENCE_S)
    finally:
        producer.close()


def kp_transactions(bootstrap: str) -> None:
    from kafka import KafkaProducer, OffsetAndMetadata, TopicPartition

    producer = KafkaProducer(bootstrap_servers=bootstrap, client_id="golden-txn", transactional_id="frieda")
    try:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("frieda", b"committed").get(PATIENCE_S)
        producer.send_offsets_to_transaction({TopicPartition("frieda", 0): OffsetAndMetadata(1, "", 0)}, "kp-txn")
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send("frieda", b"aborted").get(PATIENCE_S)
        producer.abort_transaction()
    finally:
        producer.close()


def kp_consume(bootstrap: str) -> None:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        "frieda",
        bootstrap_servers=bootstrap,
        client_id="golden-consumer",
        group_id="kp-classic",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        fetch_max_wait_ms=100,
        heartbeat_interval_ms=200,
    )
    try:
        seen = 0
        deadline = time.monotonic() + PATIENCE_S
        while seen < 15 and time.monotonic() < deadline:
            seen += sum(map(len, consumer.poll(timeout_ms=100).values()))
        consumer.commit()
        partition = TopicPartition("frieda", 0)
        consumer.committed(partition)
        consumer.beginning_offsets([partition])
        consumer.end_offsets([partition])
        consumer.offsets_for_times({partition: 1_700_000_000_001})
        deadline = time.monotonic() + 0.8
        while time.monotonic() < deadline:
            consumer.poll(timeout_ms=100)
        print(f"         saw {seen}")
    finally:
        consumer.close()


def kp_sasl(bootstrap: str, mechanism: str) -> None:
    from kafka import KafkaAdminClient

    admin = KafkaAdminClient(
        bootstrap_servers=bootstrap,
        client_id="golden-sasl",
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_plain_username="barnabas",
        sasl_plain_password="messenger",
    )
    admin.list_topics()
    admin.close()


def kp_admin(bootstrap: str) -> None:
    from kafka import KafkaAdminClient, OffsetAndMetadata, OffsetSpec, TopicPartition
    from kafka.admin import (
        ACL,
        ACLFilter,
        ACLOperation,
        ACLPermissionType,
        ConfigResource,
        ConfigResourceType,
        NewTopic,
        ResourcePattern,
        ResourceType,
    )

    admin = KafkaAdminClient(bootstrap_servers=bootstrap, client_id="golden-admin")
    frieda = TopicPartition("frieda", 0)
    topic = ConfigResource(ConfigResourceType.TOPIC, "frieda")
    change = ConfigResource(ConfigResourceType.TOPIC, "frieda", configs={"retention.ms": "86400000"})
    acl = ("User:k", "*", ACLOperation.READ, ACLPermissionType.ALLOW, ResourcePattern(ResourceType.TOPIC, "frieda"))
    steps = {
        "create_topics": lambda: admin.create_topics([NewTopic("kp-scratch", 1, 1)]),
        "create_partitions": lambda: admin.create_partitions({"kp-scratch": 2}),
        "list_topics": lambda: admin.list_topics(),
        "describe_topics": lambda: admin.describe_topics(["frieda"]),
        "describe_topic_partitions": lambda: admin.describe_topic_partitions(["frieda"]),
        "describe_configs": lambda: admin.describe_configs([topic]),
        "alter_configs": lambda: admin.alter_configs([change]),
        "list_config_resources": lambda: admin.list_config_resources(),
        "describe_cluster": lambda: admin.describe_cluster(),
        "describe_features": lambda: admin.describe_features(),
        "describe_log_dirs": lambda: admin.describe_log_dirs(),
        "describe_quorum": lambda: admin.describe_metadata_quorum(),
        "list_groups": lambda: admin.list_groups(),
        "describe_groups": lambda: admin.describe_groups(["kp-classic"]),
        "list_group_offsets": lambda: admin.list_group_offsets({"kp-classic": None}),
        "alter_group_offsets": lambda: admin.alter_group_offsets("kp-classic", {frieda: OffsetAndMetadata(2, "", -1)}),
        "delete_group_offsets": lambda: admin.delete_group_offsets("kp-classic", [frieda]),
        "delete_groups": lambda: admin.delete_groups(["kp-classic"]),
        "list_offsets": lambda: admin.list_partition_offsets({frieda: OffsetSpec.LATEST}),
        "describe_producers": lambda: admin.describe_producers([frieda]),
        "list_transactions": lambda: admin.list_transactions(),
        "describe_transactions": lambda: admin.describe_transactions(["frieda"]),
        "list_reassignments": lambda: admin.list_partition_reassignments(),
        "alter_reassignments": lambda: admin.alter_partition_reassignments({frieda: [1]}),
        "elect_leaders": lambda: admin.elect_leaders(0, {"frieda": [0]}),
        "create_acls": lambda: admin.create_acls([ACL(*acl)]),
        "describe_acls": lambda: admin.describe_acls(ACLFilter(*acl)),
        "delete_acls": lambda: admin.delete_acls([ACLFilter(*acl)]),
        "describe_scram": lambda: admin.describe_user_scram_credentials(["k"]),
        "delete_records": lambda: admin.delete_records({frieda: 1}),
        "delete_topics": lambda: admin.delete_topics(["kp-scratch"]),
    }
    try:
        for name, step in steps.items():
            attempt(name, step)
    finally:
        admin.close()


def replicate(bootstrap: str, other: KafkaBroker) -> None:
    """Two replicas, each broker leading one partition; then one broker leaves, misses records and comes back."""
    from kafka import KafkaAdminClient, KafkaProducer
    from kafka.admin import NewTopic

    admin = KafkaAdminClient(bootstrap_servers=bootstrap, client_id="golden-replicate")
    producer = KafkaProducer(bootstrap_servers=bootstrap, client_id="golden-replicate")

    def send() -> None:
        for partition in (0, 1):
            producer.send("replicated", b"letter", b"k", partition=partition).get(PATIENCE_S)

    def wait_for_in_sync(count: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            partitions = admin.describe_topics(["replicated"])[0]["partitions"]
            if all(len(each["isr_nodes"]) == count for each in partitions):
                return
            assert time.monotonic() < deadline, partitions
            time.sleep(0.1)

    try:
        attempt("create_topics", lambda: admin.create_topics([NewTopic("replicated", 2, 2)]))
        attempt("in sync: 2", lambda: wait_for_in_sync(2))
        attempt("produce", send)
        attempt("stop a broker", other.stop)
        attempt("in sync: 1", lambda: wait_for_in_sync(1))
        attempt("produce", send)
        attempt("start it again", other.start)
        attempt("in sync: 2", lambda: wait_for_in_sync(2))
        attempt("produce", send)
    finally:
        producer.close()
        admin.close()
