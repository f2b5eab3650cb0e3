"""land that ends in the middle of a batch, at each step of it; checkpoints and lakes that do not belong together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipeline.failures import PipelineFailed
from tests.pipeline.world import World, schema_table

pytestmark = pytest.mark.slow

EVERY = 1 if os.environ.get("BARNABAS_THOROUGH") == "1" else 7
"""Each step that is tried takes some seconds of Spark."""
STEPS = ("create", "move", "delete")


class Dies(Exception):  # noqa: N818 - what happens to the job
    """Nothing of ours catches it."""


def count_calls(patch: pytest.MonkeyPatch, die_at: int | str | None) -> list[str]:
    """The calls that change a lake, of which the so many'th, or one of that name, does not happen; nor any after it."""
    from barnabas.pipeline.files import Files

    calls: list[str] = []

    def watched(name: str) -> Callable[..., Any]:
        real = getattr(Files, name)

        def call(self: Any, path: str, *rest: Any) -> Any:
            calls.append(f"{name} {path}")
            if len(calls) > die_at if isinstance(die_at, int) else die_at and any(die_at in each for each in calls):
                raise Dies(calls[-1])
            return real(self, path, *rest)

        return call

    for name in STEPS:
        patch.setattr(Files, name, watched(name))
    return calls


def prepare(world: World) -> Any:
    world.write("views.ddl", "n INT")
    world.produce([{"n": number} for number in range(40)] + ["bad"])
    return world.settings(
        f"{schema_table(world.topic, 'views.ddl')}\n[lake]\nmerge-after = 3", land="records-per-batch = 14"
    )


def check(world: World) -> None:
    assert world.raw() == world.in_topic()
    assert [row["n"] for row in world.decoded()] == list(range(40))
    assert world.quarantined() == [(b"bad", "the value is not JSON")]
    assert world.lake().is_settled()
    assert not list((world.directory / "lake").glob("_staging/*/*"))


def test_whatever_step_is_the_last_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = prepare(world)
    with monkeypatch.context() as patch:
        calls = count_calls(patch, None)
        world.land(settings)
    check(world)
    assert sum("_journal" in call for call in calls) >= 5  # three batches, two merges, and old entries' deletion
    assert any(call.startswith("delete raw/") for call in calls)
    for die_at in range(1, len(calls), EVERY):
        for what in ("lake", "checkpoints"):
            shutil.rmtree(world.directory / what)
        with monkeypatch.context() as patch:
            died = count_calls(patch, die_at)
            with pytest.raises(Dies):
                world.land(settings)
            assert len(died) > die_at
        world.land(settings)
        check(world)


def test_half_an_entry_of_the_journal_is_a_change_that_did_not_happen(world: World) -> None:
    world.produce(range(10))
    world.land()
    entry = world.directory / "lake" / "_journal" / "000000000001.json"
    entry.write_text('{"number": 1, "kind": "ba')
    assert world.raw() == world.in_topic()
    world.produce(range(5))
    world.land()
    assert world.raw() == world.in_topic()
    assert entry.read_text().endswith("}")


def test_a_lost_checkpoint_is_no_loss(world: World) -> None:
    world.broker.create_topic(world.topic, 2)
    for partition in (0, 1):
        world.produce(range(10), partition=partition)
    world.land()
    shutil.rmtree(world.directory / "checkpoints")
    world.produce(range(7), partition=1)
    world.land()
    assert [fact["records"] for fact in world.said] == [20, 7]
    assert world.raw() == world.in_topic()


def test_a_checkpoint_whose_lake_is_gone_is_refused(world: World) -> None:
    world.produce(range(10))
    world.land()
    shutil.rmtree(world.directory / "lake")
    with pytest.raises(PipelineFailed, match=r"has landed batches, but .* has none"):
        world.land()


def test_a_lake_that_another_checkpoint_has_landed_since_is_refused(world: World) -> None:
    world.produce(range(10))
    world.land()
    world.produce(range(10))
    world.land(world.settings(land='checkpoint = "checkpoints/second"'))
    assert world.raw() == world.in_topic()
    world.produce(range(10))
    with pytest.raises(PipelineFailed, match="was last landed with another checkpoint"):
        world.land()
    assert len(world.raw()) == 20


def test_a_new_checkpoint_that_has_planned_what_is_landed_meanwhile_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.produce(range(10))
    world.land()
    world.produce(range(10))
    second = world.settings(land='checkpoint = "checkpoints/second"')
    with monkeypatch.context() as patch, pytest.raises(Dies):
        count_calls(patch, "create _journal")
        world.land(second)
    world.land(world.settings())
    assert len(world.raw()) == 20
    with pytest.raises(PipelineFailed, match="is in the lake already: delete the checkpoint"):
        world.land(second)
    assert world.raw() == world.in_topic()


def test_two_jobs_in_one_lake_are_told_apart(world: World) -> None:
    from barnabas.pipeline.lake import Entry

    world.produce(range(10))
    world.land()
    mine, other = world.lake(), world.lake()
    mine.open()
    other.open()
    entry = Entry(number=mine.next_number, kind="batch", checkpoint="a", batch=1, ends={})
    mine.commit(entry)
    with pytest.raises(PipelineFailed, match="Another job lands in"):
        other.commit(entry)


def test_what_is_no_lake_is_not_taken_for_one(world: World) -> None:
    journal = Path(world.directory, "lake", "_journal")
    journal.mkdir(parents=True)
    (journal / "1.json").write_text('{"some": "thing"}')
    world.produce(range(3))
    with pytest.raises(PipelineFailed, match="is no entry of a lake's journal"):
        world.land()
