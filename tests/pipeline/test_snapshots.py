"""The lake as it was at one entry of its journal: what a reader waits for, and what it does again."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("pyspark")

from barnabas.pipeline.auditing import snapshots
from barnabas.pipeline.auditing.snapshots import with_listing
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.lake import Entry, Lake


class Files:
    """Those that a lake looks at, in memory."""

    root = "memory"

    def __init__(self) -> None:
        self.there: dict[str, str] = {}

    def names(self, path: str) -> list[str]:
        return sorted(name.removeprefix(f"{path}/") for name in self.there if name.startswith(f"{path}/"))

    def read(self, path: str) -> str:
        return self.there[path]

    def exists(self, path: str) -> bool:
        return path in self.there

    def uri(self, path: str) -> str:
        return path


@pytest.fixture
def files() -> Files:
    return Files()


@pytest.fixture
def lake(files: Files, monkeypatch: pytest.MonkeyPatch) -> Lake:
    monkeypatch.setattr(snapshots, "_LOOK_S", 0)
    monkeypatch.setattr(snapshots, "_PATIENCE_S", 0.2)
    lake: Any = object.__new__(Lake)
    lake.files = files
    lake._last = None
    whole: Lake = lake
    return whole


def enter(files: Files, number: int, *, moves: list[tuple[str, str]] = [], removes: list[str] = []) -> None:  # noqa: B006
    entry = {"number": number, "kind": "merge", "checkpoint": "c", "batch": 1, "ends": {}}
    files.there[f"_journal/{number:012}.json"] = json.dumps({**entry, "moves": moves, "removes": removes})


def test_a_lake_without_a_journal_is_settled(lake: Lake) -> None:
    assert lake.is_settled()
    assert with_listing(lake, lambda: "files", lambda entry, listed: (entry, listed)) == (None, "files")


def test_files_that_are_still_to_come_or_to_go_are_waited_for(lake: Lake, files: Files) -> None:
    enter(files, 3, moves=[("_staging/a", "raw/a")], removes=["raw/b"])
    files.there |= {"_staging/a": "", "raw/b": ""}
    assert not lake.is_settled()
    del files.there["_staging/a"]
    assert not lake.is_settled()
    del files.there["raw/b"]
    assert lake.is_settled()


def test_one_that_never_settles_is_told_of(lake: Lake, files: Files) -> None:
    enter(files, 3, removes=["raw/b"])
    files.there["raw/b"] = ""
    with pytest.raises(PipelineFailed, match="was never at rest"):
        with_listing(lake, lambda: "files", lambda entry, listed: listed)


def test_a_listing_during_which_something_landed_is_thrown_away(lake: Lake, files: Files) -> None:
    enter(files, 1)
    listings = []

    def list_files() -> int:
        listings.append(1)
        if len(listings) < 3:
            enter(files, 1 + len(listings))
        return len(listings)

    entry, listed = with_listing(lake, list_files, lambda entry, listed: (entry, listed))
    assert isinstance(entry, Entry)
    assert (entry.number, listed) == (3, 3)


def test_files_that_are_gone_when_they_are_read_are_listed_anew(lake: Lake) -> None:
    listings = []

    def read(_entry: Entry | None, listed: int) -> int:
        if listed < 3:
            raise RuntimeError("java.io.FileNotFoundException: File raw/a does not exist")
        return listed

    def list_files() -> int:
        listings.append(1)
        return len(listings)

    assert with_listing(lake, list_files, read) == 3


def test_any_other_failure_is_nobodys_to_try_again(lake: Lake) -> None:
    def read(_entry: Entry | None, _listed: object) -> None:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        with_listing(lake, lambda: None, read)
