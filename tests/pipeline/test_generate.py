"""`barnabas pipeline new` and `generate`: topics that are there afterwards, records that are counted, and refusals."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from barnabas.cli.main import main
from barnabas.pipeline.generating.happenings import TOPICS
from barnabas.pipeline.settings import read_settings
from barnabas.testing import Broker

pytestmark = pytest.mark.kafka(own_broker=True)

FROM, TO = "2026-01-31T18:00:00.000", "2026-01-31T18:10:00.000"


@pytest.fixture
def config(kafka: Broker, tmp_path: Path) -> Path:
    assert main(["pipeline", "new", str(tmp_path / "p"), "--bootstrap-server", kafka.bootstrap_servers]) == 0
    return tmp_path / "p" / "pipeline.toml"


def test_the_settings_that_are_written_can_be_read(config: Path) -> None:
    settings = read_settings(config)
    assert set(settings.topics) == set(settings.land.topics) == set(TOPICS)
    for topic in settings.topics.values():
        assert Path(settings.place(topic.schema)).is_file()
    assert {feed.source for feed in settings.derive.values()} <= set(TOPICS)


def test_settings_that_are_there_are_kept(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = config.read_text()
    assert main(["pipeline", "new", str(config.parent)]) == 1
    assert "is there already: name another directory." in capsys.readouterr().err
    assert config.read_text() == before


@pytest.mark.slow
def test_the_past_is_made_up_once_for_a_seed(kafka: Broker, config: Path) -> None:
    command = ["pipeline", "generate", "--config", str(config), "--records", "2000", "--from", FROM, "--to", TO]
    assert main(command) == 0
    assert {name: count for name, count in kafka.topics().items() if name in TOPICS} == dict.fromkeys(TOPICS, 4)
    first = {topic: Counter(record.value for record in kafka.records(topic)) for topic in TOPICS}
    assert sum(map(Counter.total, first.values())) == 2_000
    assert main(command) == 0
    again = {topic: Counter(record.value for record in kafka.records(topic)) for topic in TOPICS}
    assert again == {topic: values + values for topic, values in first.items()}

    counted = Counter[str]()
    for record in kafka.records("audit"):
        count = record.json()
        assert "2026-01-31T18:00:00Z" <= count["minute"] <= "2026-01-31T18:09:00Z"
        counted[count["topic"]] += count["acknowledged"]  # in so short a time each cell is told once
    assert counted == {topic: values.total() for topic, values in again.items()}


def test_a_live_stream_goes_at_its_rate_and_ends_when_there_is_enough(kafka: Broker, config: Path) -> None:
    assert main(["pipeline", "generate", "--config", str(config), "--records", "20", "--rate", "500"]) == 0
    assert sum(len(kafka.records(topic)) for topic in TOPICS) == 20


def test_without_a_broker_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("barnabas.pipeline.generate._ANSWER_S", 0.3)
    assert main(["pipeline", "new", str(tmp_path), "--bootstrap-server", "127.0.0.1:1"]) == 0
    assert main(["pipeline", "generate", "--config", str(tmp_path / "pipeline.toml")]) == 1
    assert "No broker answers at 127.0.0.1:1: start one, or mend bootstrap.servers." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--hours", "1", "--from", FROM], "either --hours, or --from and --to"),
        (["--to", TO], "--to goes with --from"),
        (["--from", TO, "--to", FROM], "--from is not before --to"),
        (["--from", "1970-01-01", "--to", TO], "more than a year"),
        (["--hours", "nan"], "not more than 0"),
        (["--records", "0"], "not 1 or more"),
        (["--rate", "much"], "is no number"),
    ],
)
def test_wrong_use(flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "generate", "--config", str(tmp_path / "pipeline.toml"), *flags])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_it_needs_no_spark(tmp_path: Path) -> None:
    code = "import barnabas.cli.pipeline.generate, barnabas.pipeline.generate, sys; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "False\n"


def test_without_librdkafka_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "new", str(tmp_path)]) == 0
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert main(["pipeline", "generate", "--config", str(tmp_path / "pipeline.toml")]) == 1
    assert "confluent-kafka is not installed: run pip install 'barnabas[spark]'." in capsys.readouterr().err
