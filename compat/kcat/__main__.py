"""`python -m compat.kcat HOST:PORT [--quick]`: what kcat does. Topics are made by another client, for it has no command
for that."""

from __future__ import annotations

import json
import signal
import sys
from functools import partial
from itertools import count

from compat.checks import Stage, check, equal, main
from compat.kcat.program import Kcat, RunningKcat, find_kcat, wait_for_assignment
from compat.rounds.adapter import load
from compat.rounds.round import LONG_AGO
from tests.clients.waiting import wait_until

PARTITIONS = {0, 1}
OTHER = load("confluent-kafka")


def kcat_on(stage: Stage) -> Kcat:
    program = find_kcat()
    assert program is not None, "kcat is not installed (apt-get install kcat)"
    return Kcat(program, stage.bootstrap)


def with_topic(stage: Stage) -> Kcat:
    """Of two partitions."""
    admin = OTHER.administer(stage.bootstrap)
    admin.create_topic(stage.name, len(PARTITIONS))
    wait_until(lambda: stage.name in admin.topics(), "the topic to come")
    admin.close()
    return kcat_on(stage)


def come_out_as_they_went_in(stage: Stage, *, codec: str) -> None:
    kcat = with_topic(stage)
    keyed = ("-K", ":", "-H", "color=red", "-z", codec, "-X", "enable.idempotence=true")
    kcat.run("-P", "-t", stage.name, "-p", "1", *keyed, stdin="".join(f"k{n}:v{n}\n" for n in range(50)))
    out = kcat.run("-C", "-t", stage.name, "-p", "1", "-o", "beginning", "-e", "-q", "-f", "%o %k %s %h\\n")
    equal(out.splitlines(), [f"{n} k{n} v{n} color=red" for n in range(50)])


check("produce: keys and headers come out as they went in")(partial(come_out_as_they_went_in, codec="none"))
for each in ("gzip", "snappy", "lz4", "zstd"):
    check(f"codecs: {each}")(partial(come_out_as_they_went_in, codec=each))


@check("connect: the broker, its topics and partitions")
def metadata(stage: Stage) -> None:
    described = json.loads(with_topic(stage).run("-L", "-J", "-t", stage.name))
    equal([each["name"] for each in described["brokers"]], [stage.bootstrap])
    (found,) = described["topics"]
    equal(
        [(each["partition"], each["leader"], each["isrs"]) for each in found["partitions"]],
        [(0, 1, [{"id": 1}]), (1, 1, [{"id": 1}])],
    )


@check("topics: one comes with its first record")
def created_by_itself(stage: Stage) -> None:
    kcat = kcat_on(stage)
    kcat.run("-P", "-t", stage.name, stdin="first\n")
    (found,) = json.loads(kcat.run("-L", "-J", "-t", stage.name))["topics"]
    equal([each["partition"] for each in found["partitions"]], [0])
    equal(kcat.run("-C", "-t", stage.name, "-e", "-q", "-f", "%p %o %s\\n"), "0 0 first\n")


@check("consume: the last records, and from a time on")
def by_time(stage: Stage) -> None:
    kcat = with_topic(stage)
    producer = OTHER.produce(stage.bootstrap)
    for number in range(10):
        producer.send(stage.name, b"%d" % number, timestamp=LONG_AGO + number)
    producer.flush()
    at = ("-C", "-t", stage.name, "-p", "0", "-e", "-q")
    equal(kcat.run(*at, "-o", "-3", "-f", "%o\\n").split(), ["7", "8", "9"])
    equal(kcat.run("-Q", "-t", f"{stage.name}:0:{LONG_AGO + 4}").split(), [stage.name, "[0]", "offset", "4"])
    since = kcat.run(*at, "-o", f"s@{LONG_AGO + 7}", "-f", "%s %T\\n")
    equal(since.splitlines(), [f"{number} {LONG_AGO + number}" for number in (7, 8, 9)])


@check("offsets: what a group has had it does not get again")
def a_group(stage: Stage) -> None:
    kcat = with_topic(stage)
    kcat.run("-P", "-t", stage.name, stdin="".join(f"{n}\n" for n in range(20)))
    balanced = ("-q", "-e", "-X", "auto.offset.reset=earliest", "-G", stage.name, stage.name)
    equal(sorted(map(int, kcat.run(*balanced).split())), list(range(20)))
    kcat.run("-P", "-t", stage.name, stdin="more\n")
    equal(kcat.run(*balanced).split(), ["more"])


@check("groups: members join, leave and die")
def members(stage: Stage) -> None:
    """Each record reaches somebody, and what is new only one."""
    kcat = with_topic(stage)
    sent: list[str] = []
    numbers = count()

    def send() -> list[str]:
        values = [str(number) for number in range(len(sent), len(sent) + 40)]
        for partition in PARTITIONS:
            lines = "".join(f"{value}\n" for value in values if int(value) % 2 == partition)
            kcat.run("-P", "-t", stage.name, "-p", str(partition), stdin=lines)
        sent.extend(values)
        return values

    def join(session_ms: int) -> RunningKcat:
        times = ("-X", f"session.timeout.ms={session_ms}", "-X", "heartbeat.interval.ms=200")
        reading = ("-X", "auto.offset.reset=earliest", "-u", "-f", "%s\\n", "-G", stage.name, stage.name)
        member = RunningKcat(kcat, stage.directory / f"kcat-{next(numbers)}.out", *times, *reading)
        stage.until_the_end.callback(member.end, signal.SIGKILL)
        return member

    def reach(values: list[str], *those: RunningKcat) -> None:
        wait_until(lambda: set(values) <= {line for each in those for line in each.lines()}, "the records")
        found = [line for each in those for line in each.lines() if line in set(values)]
        equal(sorted(found), sorted(values))

    stays = join(1_500)
    wait_for_assignment([stays], PARTITIONS)
    reach(send(), stays)
    dies = join(1_500)
    wait_for_assignment([stays, dies], PARTITIONS)
    reach(send(), stays, dies)
    dies.end(signal.SIGKILL)
    wait_for_assignment([stays], PARTITIONS)
    reach(send(), stays)
    leaves = join(60_000)  # nobody waits for its session to end
    wait_for_assignment([stays, leaves], PARTITIONS)
    reach(send(), stays, leaves)
    equal(leaves.end(signal.SIGTERM), 0)
    wait_for_assignment([stays], PARTITIONS)
    reach(send(), stays)
    assert set(sent) <= {line for each in (stays, dies, leaves) for line in each.lines()}, "some reached nobody"


if __name__ == "__main__":
    main(arguments=sys.argv[1:])
