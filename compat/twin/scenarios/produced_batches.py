"""Produce: what is in the records, byte by byte, and what the broker makes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compat.twin.batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    COUNT,
    CRC,
    LAST_OFFSET,
    LENGTH,
    MAGIC,
    MAX_TIMESTAMP,
    PRODUCER,
    RECORDS,
    batch,
    changed,
    now_ms,
    old_batch,
)
from compat.twin.records import kept, produce
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

LONG_AGO = 1_700_000_000_000
DAY_MS = 86_400_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
GOOD = batch(b"value", key=b"key", timestamp=LONG_AGO)
TWO = batch(b"one", b"two", key=b"key", timestamp=LONG_AGO)
TEXT = b"the same again and again, " * 20
SEVERAL = (TEXT, b"", None, TEXT)


def each(twins: Twins, topic: str, cases: Mapping[str, bytes] | tuple[bytes, ...]) -> None:
    for records in cases.values() if isinstance(cases, Mapping) else cases:
        produce(twins, (topic, 0, records), Acks=1)
    kept(twins, topic)


def alone(twins: Twins, *cases: bytes) -> None:
    """Each to a partition of its own, so that none changes what comes of the next."""
    topic = twins.create("alone", partitions=len(cases))
    for number, records in enumerate(cases):
        produce(twins, (topic, number, records))


@scenario("Produce", first=3)
def in_each_codec(twins: Twins) -> None:
    """zstd is refused below version 7."""
    topic = twins.create("codecs")
    each(twins, topic, tuple(batch(*SEVERAL, codec=codec, timestamp=LONG_AGO) for codec in CODECS))


def _compressed_by_the_broker(codec: str) -> Callable[[Twins], None]:
    def function(twins: Twins) -> None:
        topic = twins.create(codec, compression_type=codec)
        each(twins, topic, tuple(batch(*SEVERAL, codec=one, timestamp=LONG_AGO) for one in CODECS))

    function.__module__, function.__name__ = __name__, f"in_each_codec_and_then_{codec}"
    return function


for _codec in ("uncompressed", "gzip", "snappy", "lz4", "zstd"):
    scenario("Produce", first=3)(_compressed_by_the_broker(_codec))


@scenario("Produce", first=3)
def in_codecs_that_are_none(twins: Twins) -> None:
    topic = twins.once(Twins.create, "none")
    each(twins, topic, tuple(changed(GOOD, ATTRIBUTES, bytes([0, codec])) for codec in (5, 6, 7)))


@scenario("Produce", first=3)
def packed_otherwise_than_they_say(twins: Twins) -> None:
    """Each in a partition of its own: Barnabas does not look into them."""
    packed = batch(*SEVERAL, codec="gzip", timestamp=LONG_AGO)
    alone(
        twins,
        *(changed(packed, ATTRIBUTES, bytes([0, codec])) for codec in (0, 2, 3)),
        *(changed(GOOD, ATTRIBUTES, bytes([0, codec])) for codec in (1, 2, 3)),
        changed(packed, len(packed) - 20, b"not zipped"),
        batch(*SEVERAL, codec="lz4", timestamp=LONG_AGO)[:-3],
    )


@scenario("Produce", first=3)
def in_lz4_that_java_does_not_read(twins: Twins) -> None:
    """Blocks that need each other, which some libraries write, and no frame at all; also where records are read."""
    packed = batch(*SEVERAL, key=b"key", codec="lz4", timestamp=LONG_AGO)
    wrong = tuple(changed(packed, place, value) for place, value in ((65, b"\x40"), (61, b"none")))
    alone(twins, *wrong)
    each(twins, twins.create("compacted", cleanup_policy="compact"), wrong)


@scenario("Produce", first=3)
def of_other_magic(twins: Twins) -> None:
    topic = twins.create("magic")
    each(twins, topic, tuple(changed(GOOD, MAGIC, bytes([magic]), signed=False) for magic in (0, 1, 3, 127, 255)))
    for magic in (0, 1):
        old = old_batch(magic, b"one", b"two", timestamp=LONG_AGO)
        produce(twins, (topic, 0, old))
        produce(twins, (topic, 0, old + GOOD))
        produce(twins, (topic, 0, GOOD + old))
        produce(twins, (topic, 0, old_batch(magic, TEXT, TEXT, timestamp=LONG_AGO, codec="gzip")))
    kept(twins, topic)


@scenario("Produce", first=3)
def with_a_wrong_checksum(twins: Twins) -> None:
    topic = twins.once(Twins.create, "checksum")
    spoilt = GOOD[:-2] + b"!" + GOOD[-1:]
    zero = changed(GOOD, CRC, bytes(4), signed=False)
    each(twins, topic, (spoilt, zero, spoilt + GOOD, GOOD + spoilt))


@scenario("Produce", first=3)
def cut_or_too_long(twins: Twins) -> None:
    topic = twins.once(Twins.create, "cut")
    each(twins, topic, tuple(GOOD[:end] for end in (12, 17, 60, 61, len(GOOD) - 1)))
    each(twins, topic, (GOOD + b"\x00", GOOD + bytes(20), GOOD + GOOD[:-1], GOOD + GOOD[:30]))


@scenario("Produce", first=3)
def with_a_wrong_length(twins: Twins) -> None:
    topic = twins.once(Twins.create, "length")
    right = len(GOOD) - 12
    for length in (-1, 0, 13, 14, 48, 49, 50, right - 1, right + 1, -(2**31)):
        produce(twins, (topic, 0, changed(GOOD, LENGTH, length.to_bytes(4, signed=True), signed=False)))
    kept(twins, topic)


@scenario("Produce", first=3)
def with_the_greatest_length(twins: Twins) -> None:
    """Twelve more is less than nothing."""
    alone(twins, changed(GOOD, LENGTH, (2**31 - 1).to_bytes(4), signed=False))


@scenario("Produce", first=3)
def several_batches_in_one_partition(twins: Twins) -> None:
    topic = twins.create("several")
    each(twins, topic, (GOOD + TWO, GOOD + GOOD + GOOD, TWO + batch(TEXT, codec="gzip", timestamp=LONG_AGO)))


@scenario("Produce", first=3)
def with_a_wrong_count(twins: Twins) -> None:
    """In their header, in what they hold, and by what their last offset says."""
    topic = twins.once(Twins.create, "count")
    counts = (-1, 0, 1, 3, 2**31 - 1)
    each(twins, topic, tuple(changed(TWO, COUNT, count.to_bytes(4, signed=True)) for count in counts))
    lasts = (-1, 0, 2, 9, 2**31 - 1)
    each(twins, topic, tuple(changed(TWO, LAST_OFFSET, last.to_bytes(4, signed=True)) for last in lasts))
    none = changed(changed(GOOD, LAST_OFFSET, (-1).to_bytes(4, signed=True)), COUNT, bytes(4))
    each(twins, topic, (none, none[:61]))


@scenario("Produce", first=3)
def without_any_record(twins: Twins) -> None:
    """A batch that has a header only."""
    topic = twins.once(Twins.create, "none")
    header = changed(changed(GOOD[:61], LENGTH, (49).to_bytes(4), signed=False), COUNT, bytes(4))
    lasts = (bytes(4), (-1).to_bytes(4, signed=True))
    each(twins, topic, tuple(changed(header, LAST_OFFSET, last) for last in lasts))


@scenario("Produce", first=3)
def whose_records_cannot_be_read(twins: Twins) -> None:
    """Header and checksum are right, and what a record says of itself is not: Barnabas does not look into them."""
    places = ((0, 0x7E), (0, 2), (0, 1), (4, 0x7E), (4, 3), (8, 0x7F), (-1, 2), (-1, 1))
    records = [changed(GOOD, place + (RECORDS if place >= 0 else len(GOOD)), bytes([byte])) for place, byte in places]
    three = changed(changed(TWO, LAST_OFFSET, (2).to_bytes(4)), COUNT, (3).to_bytes(4))
    one = changed(changed(TWO, LAST_OFFSET, bytes(4)), COUNT, (1).to_bytes(4))
    alone(twins, *records, three, one)


@scenario("Produce", first=3)
def whose_records_are_odd(twins: Twins) -> None:
    """Attributes, and an offset that its place does not give it."""
    topic = twins.create("odd")
    for place, byte in ((1, 0xFF), (3, 2)):
        produce(twins, (topic, 0, changed(GOOD, RECORDS + place, bytes([byte]))))


@scenario("Produce", first=3)
def whose_highest_time_is_not_that_of_its_records(twins: Twins) -> None:
    """Kafka puts it right; Barnabas does not look into them."""
    topic = twins.create("highest")
    for time in (LONG_AGO + 5, LONG_AGO - 5):
        produce(twins, (topic, 0, changed(TWO, MAX_TIMESTAMP, time.to_bytes(8))))
    produce(twins, (topic, 0, batch(b"a", b"b", timestamp=-2)))
    kept(twins, topic)


@scenario("Produce", first=3)
def with_what_is_the_brokers_to_say(twins: Twins) -> None:
    """A base offset, a leader epoch, a control batch, a time of the broker, unused bits, and a delete horizon."""
    topic = twins.create("say")
    offsets = (1, 7, -1, 2**62)
    each(twins, topic, tuple(changed(TWO, BASE_OFFSET, n.to_bytes(8, signed=True), signed=False) for n in offsets))
    each(twins, topic, (changed(GOOD, 12, (7).to_bytes(4), signed=False),))
    bits = (0x20, 0x30, 0x08, 0x40, 0x80)
    each(twins, topic, tuple(changed(GOOD, ATTRIBUTES, bytes([0, bit])) for bit in bits))
    each(twins, topic, (changed(GOOD, ATTRIBUTES, bytes([0x80, 0])),))


@scenario("Produce", first=3)
def of_half_a_producer(twins: Twins) -> None:
    """Id, epoch and sequence belong together."""
    topic = twins.create("half")
    for number, (epoch, sequence) in enumerate(((-1, -1), (0, -1), (-1, 0), (-2, 0), (0, -2))):
        own = (7_000 + number).to_bytes(8) + epoch.to_bytes(2, signed=True) + sequence.to_bytes(4, signed=True)
        produce(twins, (topic, 0, changed(GOOD, PRODUCER, own)))
    for producer in (-1, -2):
        own = producer.to_bytes(8, signed=True) + bytes(6)
        produce(twins, (topic, 0, changed(GOOD, PRODUCER, own)))
    kept(twins, topic)


@scenario("Produce", first=3)
def stamped_by_the_broker(twins: Twins) -> None:
    topic = twins.create("stamped", message_timestamp_type="LogAppendTime")
    records = tuple(batch(*SEVERAL, codec=codec, timestamp=LONG_AGO) for codec in CODECS[:4])
    each(twins, topic, (TWO, *records, batch(b"no time", timestamp=-1), batch(b"now")))
    each(twins, topic, (batch(b"far", timestamp=now_ms() + 5 * DAY_MS),))


@scenario("Produce", first=3)
def of_times_too_far(twins: Twins) -> None:
    topic = twins.once(
        Twins.create, "far", message_timestamp_before_max_ms="10000", message_timestamp_after_max_ms="20000"
    )
    now = now_ms()
    for distance in (-DAY_MS, -15_000, 0, 15_000, 25_000 + 60_000, DAY_MS):
        produce(twins, (topic, 0, batch(b"a", b"b", timestamp=now + distance)))
    for timestamp in (0, -1, -2, 2**62):
        produce(twins, (topic, 0, batch(b"a", timestamp=timestamp)))
    produce(twins, (topic, 0, batch(TEXT, TEXT, TEXT, codec="gzip", timestamp=now - DAY_MS)))


@scenario("Produce", first=3)
def of_odd_times(twins: Twins) -> None:
    """By default, nothing is too old, and an hour is too far ahead."""
    topic = twins.create("odd")
    times = (0, -1, 1, LONG_AGO, now_ms() + 2 * 3_600_000, 2**62)
    each(twins, topic, tuple(batch(b"a", b"b", timestamp=timestamp) for timestamp in times))


@scenario("Produce", first=3)
def without_keys_to_a_compacted_topic(twins: Twins) -> None:
    topic = twins.create("compacted", cleanup_policy="compact")
    values = (TEXT,) * 4
    some = (b"a", None, b"c", None)
    for codec in CODECS[:4]:
        produce(twins, (topic, 0, batch(*values, keys=some, codec=codec, timestamp=LONG_AGO)))
        produce(twins, (topic, 0, batch(*values, codec=codec, timestamp=LONG_AGO)))
    each(twins, topic, (TWO, batch(None, key=b"k", timestamp=LONG_AGO), batch(b"v", key=b"", timestamp=LONG_AGO)))


@scenario("Produce", first=3)
def of_many_wrong_records(twins: Twins) -> None:
    """How many of them an answer names."""
    topic = twins.once(Twins.create, "many", cleanup_policy="compact", message_timestamp_before_max_ms="1000")
    produce(twins, (topic, 0, batch(*[b"v"] * 300)))
    produce(twins, (topic, 0, batch(*[b"v"] * 300, key=b"k", timestamp=LONG_AGO)))
    produce(twins, (topic, 0, batch(*[b"v"] * 3, keys=(None, b"k", None), timestamp=LONG_AGO)))


@scenario("Produce", first=3)
def too_large(twins: Twins) -> None:
    """To the byte; what counts is what is appended."""
    overhead = len(batch(bytes(300))) - 300
    topic = twins.create("small", max_message_bytes=str(overhead + 300))
    packed = twins.create("packed", max_message_bytes=str(overhead + 300), compression_type="gzip")
    unpacked = twins.create("unpacked", max_message_bytes=str(overhead + 300), compression_type="uncompressed")
    for size in (299, 300, 301):
        produce(twins, (topic, 0, batch(bytes(size), timestamp=LONG_AGO)))
    for name in (topic, packed, unpacked):
        produce(twins, (name, 0, batch(bytes(900), timestamp=LONG_AGO)))
        produce(twins, (name, 0, batch(bytes(900), codec="gzip", timestamp=LONG_AGO)))
        kept(twins, name)


@scenario("Produce", first=3)
def larger_than_a_segment(twins: Twins) -> None:
    topic = twins.create("segment", max_message_bytes="2000000", segment_bytes="1048576")
    limit = 1_048_576 - len(batch(bytes(1 << 20), timestamp=LONG_AGO)) + (1 << 20)
    for size in (limit, limit + 1):
        produce(twins, (topic, 0, batch(bytes(size), timestamp=LONG_AGO)))


@scenario("Produce", first=3)
def with_headers_and_without_values(twins: Twins) -> None:
    topic = twins.create("headers")
    headers = [("name", b"value"), ("name", b""), ("", b"x"), ("ünï", None)]
    each(
        twins,
        topic,
        (
            batch(b"v", headers=headers, timestamp=LONG_AGO),
            batch(None, key=b"k", timestamp=LONG_AGO),
            batch(None, timestamp=LONG_AGO),
            batch(b"", key=b"", timestamp=LONG_AGO),
        ),
    )
