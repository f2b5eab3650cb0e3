"""Fetch sessions: a client says what has changed since its last request, and hears of what has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compat.twin.batches import batch
from compat.twin.both import Both
from compat.twin.records import Part, fetch, fetching, part
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

LONG_AGO = 1_700_000_000_000
ANY = 12_345


class Session:
    def __init__(self, twins: Twins, *parts: Part, **fields: Any) -> None:
        self.twins = twins
        self.identity = fetch(twins, *parts, SessionId=0, SessionEpoch=0, **fields)["SessionId"]
        self.epoch = 0

    def step(
        self, *parts: Part, epoch: int | None = None, forgotten: Sequence[tuple[str, int]] = (), **fields: Any
    ) -> Both:
        """The next request, or one that says another epoch."""
        if epoch is None:
            self.epoch += 1
        said = {"SessionId": self.identity, "SessionEpoch": self.epoch if epoch is None else epoch}
        return fetch(self.twins, *parts, forgotten=forgotten, **said, **fields)


def add(twins: Twins, topic: str, *values: bytes, partition: int = 0) -> None:
    twins.produce(topic, batch(*values, timestamp=LONG_AGO), partition=partition)


@scenario("Fetch", first=7)
def that_hears_what_is_new(twins: Twins) -> None:
    topic = twins.create("new", partitions=3)
    session = Session(twins, part(topic), part(topic, 1), part(topic, 2))
    session.step()
    add(twins, topic, b"one", partition=1)
    session.step()
    # It is told again until the client says that it has gone on.
    session.step()
    session.step(part(topic, 1, offset=1))
    add(twins, topic, b"zero")
    add(twins, topic, b"two", partition=2)
    session.step()
    session.step(part(topic, 0, 1), part(topic, 2, 1))
    session.step()


@scenario("Fetch", first=7)
def that_takes_turns(twins: Twins) -> None:
    """Who gave records stands last in the next answer, so that nobody starves."""
    topic = twins.create("turns", partitions=3)
    for number in range(3):
        add(twins, topic, b"%d" % number * 100, partition=number)
    session = Session(twins, part(topic), part(topic, 1), part(topic, 2), MaxBytes=1)
    for _ in range(5):
        session.step(MaxBytes=1)
    session.step()


@scenario("Fetch", first=7)
def that_grows_and_shrinks(twins: Twins) -> None:
    first, second = twins.create("first", partitions=3), twins.create("second")
    for topic in (first, second):
        add(twins, topic, b"a")
    session = Session(twins, part(first))
    session.step(part(second), part(first, 1))
    session.step(forgotten=[(first, 0)])
    session.step(part(first, 2), forgotten=[(second, 0), (first, 1)])
    session.step(part(first))
    # The same is given up and wanted in one request.
    session.step(part(first), forgotten=[(first, 0)])
    session.step(forgotten=[(first, 0), (first, 2)])
    session.step()


@scenario("Fetch", first=7)
def that_gives_up_what_it_never_had(twins: Twins) -> None:
    topic, nowhere = twins.create("never"), twins.name("nowhere")
    add(twins, topic, b"a")
    session = Session(twins, part(topic))
    session.step(forgotten=[(topic, 9), (nowhere, 0)])
    session.step(forgotten=[(topic, 0), (topic, 0)])
    session.step()


@scenario("Fetch", first=7)
def with_wrong_epochs(twins: Twins) -> None:
    """It goes on where it was."""
    topic = twins.once(Twins.create, "epochs")
    add(twins, topic, b"a")
    session = Session(twins, part(topic))
    session.step()
    for epoch in (1, 3, 99, 2**31 - 1, -2):
        session.step(epoch=epoch)
    session.step()


@scenario("Fetch", first=7)
def that_there_is_not(twins: Twins) -> None:
    topic = twins.once(Twins.create, "none")
    add(twins, topic, b"a")
    for identity, epoch in ((ANY, 1), (ANY, 0), (ANY, -1), (0, 1), (0, 7), (-1, 1), (ANY, -2), (0, -2)):
        fetch(twins, part(topic), SessionId=identity, SessionEpoch=epoch)
    # What is said of two wrong things.
    fetch(twins, part(topic), SessionId=ANY, SessionEpoch=1, IsolationLevel=9)
    fetch(twins, part(twins.name("nowhere")), SessionId=ANY, SessionEpoch=1)


@scenario("Fetch", first=7)
def that_ends(twins: Twins) -> None:
    """By its last request, or by one that begins another."""
    topic = twins.create("ends")
    add(twins, topic, b"a")
    for epoch in (-1, 0):
        session = Session(twins, part(topic))
        session.step()
        session.step(part(topic), epoch=epoch)
        session.step(epoch=2)
        session.step(epoch=1)


@scenario("Fetch", first=7)
def of_nothing(twins: Twins) -> None:
    """A session of no partition is none."""
    topic = twins.once(Twins.create, "nothing")
    fetch(twins, SessionId=0, SessionEpoch=0)
    fetch(twins, SessionId=0, SessionEpoch=-1)
    session = Session(twins, part(topic))
    session.step(forgotten=[(topic, 0)])
    session.step(part(topic))
    session.step()


@scenario("Fetch", first=7)
def of_what_is_not_there(twins: Twins) -> None:
    topic, nowhere = twins.create("there"), twins.name("nowhere")
    add(twins, topic, b"a")
    session = Session(twins, part(topic), part(topic, 9), part(nowhere))
    session.step()
    session.step(part(topic, offset=99))
    session.step()
    session.step(part(topic, offset=1))
    session.step(forgotten=[(topic, 9), (nowhere, 0)])
    session.step()


@scenario("Fetch", first=7)
def of_a_topic_that_goes(twins: Twins) -> None:
    topic, other = twins.create("goes"), twins.create("stays")
    add(twins, topic, b"a")
    session = Session(twins, part(topic), part(other))
    session.step()
    twins.delete(topic)
    session.step()
    session.step()
    add(twins, other, b"b")
    session.step(forgotten=[(topic, 0)])
    session.step()


@scenario("Fetch", first=7)
def of_a_topic_that_comes(twins: Twins) -> None:
    """Who asks by name has it then; who asks by an id that nobody had never does."""
    topic = twins.name("comes")
    session = Session(twins, part(topic))
    session.step()
    twins.create("comes")
    add(twins, topic, b"a")
    session.step()
    session.step(part(topic))
    session.step()


@scenario("Fetch", first=7)
def whose_offsets_move(twins: Twins) -> None:
    """What makes an answer say a partition again: records, its end, its beginning, an error."""
    topic = twins.create("move", partitions=2)
    add(twins, topic, b"a", b"b", b"c")
    session = Session(twins, part(topic, offset=3), part(topic, 1))
    session.step()
    partitions = [{"PartitionIndex": 0, "Offset": 2}]
    twins.ask("DeleteRecords", Topics=[{"Name": topic, "Partitions": partitions}], TimeoutMs=5_000)
    session.step()
    session.step()
    session.step(part(topic, offset=1))
    session.step()
    session.step(part(topic, offset=2))
    session.step()


@scenario("Fetch", first=7)
def that_changes_its_limits(twins: Twins) -> None:
    topic = twins.create("limits", partitions=2)
    for number in range(2):
        add(twins, topic, b"a" * 100, partition=number)
        add(twins, topic, b"b" * 100, partition=number)
    session = Session(twins, part(topic, PartitionMaxBytes=1), part(topic, 1))
    session.step(MaxBytes=1)
    session.step(part(topic, PartitionMaxBytes=1000), MinBytes=1 << 20, MaxWaitMs=10)
    session.step(IsolationLevel=1)
    session.step(part(topic, 1, CurrentLeaderEpoch=0))
    session.step(part(topic, 1, CurrentLeaderEpoch=7))
    session.step()


@scenario("Fetch", first=13)
def by_names_and_by_ids(twins: Twins) -> None:
    """What began with the one cannot go on with the other."""
    topic = twins.create("both")
    add(twins, topic, b"a")
    session = Session(twins, part(topic))
    identity = {"MaxWaitMs": 0, "SessionId": session.identity}
    twins.ask("Fetch", at=12, **identity, SessionEpoch=1)
    session.step()
    old = twins.ask("Fetch", at=12, MaxWaitMs=0, SessionEpoch=0, Topics=[{"Topic": topic, "Partitions": [part("")[1]]}])
    fetch(twins, SessionId=old["SessionId"], SessionEpoch=1)
    twins.ask("Fetch", at=12, MaxWaitMs=0, SessionId=old["SessionId"], SessionEpoch=1)


@scenario("Fetch", first=7)
def of_another_connection(twins: Twins) -> None:
    """A session belongs to whoever knows its number."""
    topic = twins.create("another")
    add(twins, topic, b"a")
    session = Session(twins, part(topic))
    twins.another().ask("Fetch", **fetching(twins, SessionId=session.identity, SessionEpoch=1))
    session.step(epoch=1)
    session.step(epoch=2)
