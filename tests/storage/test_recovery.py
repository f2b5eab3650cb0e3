"""Reading a log after a kill where reading itself is what is difficult: batches longer than a window, and bad disks."""

from __future__ import annotations

import pytest

from barnabas.protocol.batches import iterate_batches
from barnabas.storage.topic_config import TopicConfig

from .faulty_disk import FaultyDisk, everything
from .test_corruption import CONFIG, killed
from .test_durability import NAME, ROOT, boot, new_disk, visible
from .test_log import NOW, batch_of

VALUES = dict(enumerate([b"a", bytes(1_500_000), bytes(3_000_000), b"b"]))
DEFAULTS = TopicConfig.load({})
MUCH = 1 << 22


def killed_with_long_batches() -> FaultyDisk:
    disk = new_disk()
    log = boot(disk, config=DEFAULTS)
    for value in VALUES.values():
        log.append_as_leader([batch_of([value])], 0, NOW)
    return disk.crashed(everything)


@pytest.mark.parametrize("more", [-1, 0, 1, 7, 70, 2_000_000])
@pytest.mark.parametrize("kept", [2, 3])
def test_a_batch_longer_than_a_window_is_whole_or_torn(kept: int, more: int) -> None:
    disk = killed_with_long_batches()
    path = ROOT / NAME / f"{0:020d}.log"
    data = disk.read_file(path)
    ends = [batch.end for batch in iterate_batches(data)]
    end = ends[kept - 1] + more
    disk.damage(path, data[:end])
    lines: list[str] = []
    log = boot(disk, config=DEFAULTS, lines=lines)
    there = sum(each <= end for each in ends)
    assert visible(log, MUCH) == {at: value for at, value in VALUES.items() if at < there}
    assert disk.size(path) == ends[there - 1]
    assert len(lines) == (end not in ends and end < ends[-1])


def test_a_byte_of_a_long_batch() -> None:
    disk = killed_with_long_batches()
    path = ROOT / NAME / f"{0:020d}.log"
    data = bytearray(disk.read_file(path))
    position = next(batch.end for batch in iterate_batches(bytes(data)) if batch.base_offset == 2) - 1
    data[position] ^= 1
    disk.damage(path, bytes(data))
    lines: list[str] = []
    log = boot(disk, config=DEFAULTS, lines=lines)
    assert list(visible(log, MUCH)) == [0, 1]
    assert "crc" in lines[0]


@pytest.mark.parametrize("config", [CONFIG, DEFAULTS], ids=["many segments", "long batches"])
def test_a_start_whose_disk_cannot_be_read_takes_nothing_away(config: TopicConfig) -> None:
    """Whichever read it is: the log is not opened, or opened as a whole, and so is the next one."""
    disk = killed() if config is CONFIG else killed_with_long_batches()
    whole = disk.crashed(everything)
    state = visible(boot(whole, config=config), MUCH)
    reads = whole.counts["read"]
    assert reads > 5
    refused = 0
    for number in range(1, reads + 1):
        image = disk.crashed(everything)
        image.fail("read", number)
        try:
            log = boot(image, config=config)
        except OSError:
            refused += 1
        else:
            image.mend()
            assert visible(log, MUCH) == state
        image.mend()
        assert visible(boot(image.crashed(everything), config=config), MUCH) == state, f"read {number}"
    assert refused
