"""The audit finds what was taken out of a lake, what is there twice, and what producers sent and nobody has."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipeline.counting import Count
from barnabas.testing import Broker
from tests.pipeline.landed import PARTITIONS, Shop, twice, without

if TYPE_CHECKING:
    from barnabas.pipeline.auditing.results import Audit

pytestmark = pytest.mark.slow
RECORDS = 300


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(partitions=PARTITIONS) as broker:
        yield broker


@pytest.fixture(scope="module")
def landed(spark: Any, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    shop = Shop(broker.bootstrap_servers, "shop", tmp_path_factory.mktemp("landed") / "shop")
    shop.write(range(RECORDS))
    land(spark, shop)
    return shop


@pytest.fixture
def shop(landed: Shop, tmp_path: Path) -> Shop:
    return landed.copy(tmp_path / "copy")


def land(spark: Any, shop: Shop) -> None:
    from barnabas.pipeline.land import land

    land(spark, shop.settings, catch_up=True, say=lambda *_, **__: None)


def audit(spark: Any, shop: Shop, *, since: int | None = None, until: int | None = None) -> Audit:
    from barnabas.pipeline.audit import audit

    return audit(spark, shop.settings, since=since, until=until, say=lambda *_, **__: None)


def sentences(found: Audit) -> list[str]:
    return [finding.sentence for finding in found.findings]


def test_an_intact_lake_is_complete(spark: Any, shop: Shop) -> None:
    found = audit(spark, shop)
    assert found.is_complete
    orders, visits = found.totals
    assert (orders.topic, orders.produced, orders.broker, orders.landed) == ("shop-orders", 300, 300, 300)
    assert (visits.produced, visits.broker, visits.landed, visits.waiting) == (300, 300, 300, 0)
    assert (orders.quarantined, visits.quarantined) == (12, 0)
    assert {one.in_broker for one in found.totals} | {one.in_lake for one in found.totals} == {1.0}
    assert len(found.minutes) == 2 * 30
    assert all((one.produced, one.broker, one.landed) == (10, 10, 10) for one in found.minutes)
    assert found.delays[0].late_ms[0] == 500
    assert found.notes == []
    assert found.sentence.endswith("600 records, none missing, none twice.")


def test_one_record_that_is_taken_out_is_named(spark: Any, shop: Shop) -> None:
    shop.rewrite("raw/topic=shop-visits", without(1, 77))
    found = audit(spark, shop)
    assert not found.is_complete
    assert sentences(found) == [
        "shop-visits 2025-11-18 00:15: 1 record of the broker is missing in the lake: partition 1 offset 77."
    ]
    (finding,) = found.findings
    assert (finding.tier, finding.count) == ("lake", 1)
    assert found.totals[1].in_lake == pytest.approx(299 / 300)
    json.dumps(found.as_json())


def test_one_record_that_is_there_twice_is_named(spark: Any, shop: Shop) -> None:
    shop.rewrite("raw/topic=shop-visits", twice(0, 20))
    found = audit(spark, shop)
    assert sentences(found) == [
        "shop-visits 2025-11-18 00:04: 1 record is in the lake once too often: partition 0 offset 20."
    ]
    assert found.totals[1].landed == 300


def test_one_taken_out_and_one_twice_in_the_same_minute_do_not_cancel_out(spark: Any, shop: Shop) -> None:
    shop.rewrite("raw/topic=shop-visits", twice(0, 20))
    shop.rewrite("raw/topic=shop-visits", without(1, 20))
    assert {(one.kind, one.spans[0].partition) for one in audit(spark, shop).findings} == {
        ("missing", 1),
        ("duplicate", 0),
    }


def test_what_is_not_decoded_is_named(spark: Any, shop: Shop) -> None:
    shop.rewrite("decoded/shop-orders", without(0, 3, of="kafka"))
    shop.rewrite("quarantine", without(1, 12))
    assert sentences(audit(spark, shop)) == [
        "shop-orders 2025-11-18 00:00: 1 record of the lake is neither decoded nor quarantined: partition 0 offset 3.",
        "shop-orders 2025-11-18 00:02: 1 record of the lake is neither decoded nor quarantined: partition 1 offset 12.",
    ]


def test_tables_that_are_gone_altogether_are_missed(spark: Any, shop: Shop) -> None:
    shutil.rmtree(shop.directory / "lake" / "decoded")
    shutil.rmtree(shop.directory / "lake" / "quarantine")
    found = audit(spark, shop)
    assert sum(finding.count for finding in found.findings) == RECORDS
    assert {finding.tier for finding in found.findings} == {"decoded"}


def test_whole_files_that_are_gone_are_told_as_spans(spark: Any, shop: Shop) -> None:
    shutil.rmtree(shop.directory / "lake" / "raw" / "topic=shop-visits")
    found = audit(spark, shop)
    assert sum(finding.count for finding in found.findings) == RECORDS
    assert len(found.findings) == 30
    assert sentences(found)[1] == (
        "shop-visits 2025-11-18 00:01: 10 records of the broker are missing in the lake: "
        "partition 0 offsets 5 to 9, partition 1 offsets 5 to 9."
    )
    assert found.totals[1].in_lake == 0


def test_only_the_minutes_that_are_asked_for(spark: Any, shop: Shop) -> None:
    shop.rewrite("raw/topic=shop-visits", without(1, 77))
    begin = 29_390_400
    assert audit(spark, shop, since=begin + 16, until=begin + 20).is_complete
    found = audit(spark, shop, since=begin + 15, until=begin + 16)
    assert [finding.minute for finding in found.findings] == [begin + 15]
    assert [total.broker for total in found.totals] == [10, 10]


def test_what_producers_counted_and_nobody_has_is_named(spark: Any, shop: Shop, broker: Broker) -> None:
    broker.create_topic("lost-audit")
    for record in broker.records(shop.audit):
        broker.produce("lost-audit", record.value, key=record.key)
    lost = Count("till", "f00", 1, shop.visits, "2025-11-18T00:07:00Z", 3, 0)
    for _ in range(2):  # a count that comes twice counts once
        broker.produce("lost-audit", json.dumps({name: getattr(lost, name) for name in lost.__struct_fields__}))
    broker.produce("lost-audit", "no count")
    change_settings(shop, shop.audit, "lost-audit")
    found = audit(spark, shop)
    assert sentences(found) == [
        "shop-visits 2025-11-18 00:07: 3 records that producers counted are missing in the broker and in the lake."
    ]
    assert found.totals[1].in_broker == pytest.approx(300 / 303)
    assert found.notes == ["1 messages of the topic lost-audit are no counts, and were passed over."]


def change_settings(shop: Shop, before: str, after: str) -> None:
    file = shop.directory / "pipeline.toml"
    file.write_text(file.read_text().replace(before, after))


def test_without_counts_the_broker_and_the_lake_are_compared_alone(spark: Any, shop: Shop) -> None:
    change_settings(shop, "shop-audit", "no-such-topic")
    found = audit(spark, shop)
    assert found.is_complete
    assert {total.produced for total in found.totals} == {None}
    assert found.notes == ["There is no topic no-such-topic, in which producers would say how much they have sent."]


def test_what_comes_later_waits_and_what_the_broker_deletes_is_in_the_lake(
    spark: Any, broker: Broker, tmp_path: Path, delete_records: Callable[[str, int, int], None]
) -> None:
    shop = Shop(broker.bootstrap_servers, "later", tmp_path / "later")
    shop.write(range(100))
    nothing = audit(spark, shop)
    assert (nothing.is_complete, nothing.totals[0].waiting) == (True, 100)
    assert "200 more are not landed yet" in nothing.sentence
    land(spark, shop)

    shop.write(range(100, 200))
    waiting = audit(spark, shop)
    assert (waiting.is_complete, waiting.totals[0].landed, waiting.totals[0].waiting) == (True, 100, 100)

    delete_records(shop.orders, 0, 40)
    deleted = audit(spark, shop)
    assert (deleted.is_complete, deleted.totals[0].landed, deleted.totals[0].broker) == (True, 100, 160)

    delete_records(shop.visits, 0, 60)  # ten of which were not landed
    lost = audit(spark, shop)
    assert sentences(lost) == [
        "later-visits: deleted by the broker before it was in the lake: partition 0 offsets 50 to 59.",
        "later-visits 2025-11-18 00:10: 5 records that producers counted are missing in the broker and in the lake.",
        "later-visits 2025-11-18 00:11: 5 records that producers counted are missing in the broker and in the lake.",
    ]


@pytest.fixture
def delete_records(broker: Broker) -> Callable[[str, int, int], None]:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": broker.bootstrap_servers})

    def delete(topic: str, partition: int, before: int) -> None:
        for future in client.delete_records([TopicPartition(topic, partition, before)]).values():
            future.result(10)

    return delete


def test_the_command_says_by_its_exit_code_whether_it_adds_up(
    spark: Any, shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    from barnabas.cli.pipeline.audit import show

    assert show(audit(spark, shop), as_json=False) == 0
    told = capsys.readouterr().out
    assert "shop-orders        300     300   300           12        0           0        0  100 %" in told
    shop.rewrite("raw/topic=shop-visits", without(1, 77))
    found = audit(spark, shop)
    assert show(found, as_json=False) == 1
    told = capsys.readouterr().out
    assert "99.666 %" in told
    assert "missing in the lake: partition 1 offset 77." in told
    assert "Incomplete until" in told
    assert show(found, as_json=True) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["complete"], result["findings"][0]["minute"]) == (False, "2025-11-18T00:15:00Z")
    assert result["findings"][0]["spans"] == [{"partition": 1, "first": 77, "last": 77}]


def test_a_compacted_topic_is_not_held_against_what_producers_counted(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    shop = Shop(broker.bootstrap_servers, "keys", tmp_path / "keys")
    broker.create_topic(shop.visits, PARTITIONS, {"cleanup.policy": "compact"})
    broker.create_topic(shop.audit)
    lost = Count("till", "f00", 1, shop.visits, "2025-11-18T00:07:00Z", 3, 0)
    broker.produce(shop.audit, {name: getattr(lost, name) for name in lost.__struct_fields__})
    found = audit(spark, shop)
    assert found.is_complete
    assert "keys-visits: 3 counted records were deleted or compacted before they were landed." in found.remarks


def test_files_that_are_merged_meanwhile_are_read_anew(
    spark: Any, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(broker.bootstrap_servers, "merged", tmp_path / "merged")
    settings = shop.directory / "pipeline.toml"
    settings.write_text(f"{settings.read_text()}[lake]\nmerge-after = 2\n")
    shop.write(range(50))
    land(spark, shop)
    job: Any = import_module("barnabas.pipeline.audit")
    ask = job.bounds_of
    times = []

    def land_and_ask(*arguments: Any) -> Any:
        times.append(1)
        if len(times) == 1:  # the files are listed, and none is read
            shop.write(range(50, 100))
            land(spark, shop)
        return ask(*arguments)

    monkeypatch.setattr(job, "bounds_of", land_and_ask)
    found = audit(spark, shop)
    assert len(times) == 2
    assert (found.is_complete, found.totals[0].landed, found.totals[0].waiting) == (True, 100, 0)
