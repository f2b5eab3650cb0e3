"""`barnabas pipeline demo`: all jobs once, and the report they end in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.cli.main import main


@pytest.mark.slow
def test_it_ends_in_a_report(spark_jars: str, tmp_path: Path) -> None:
    left = tmp_path / "barnabas-pipeline"
    left.mkdir()
    (left / ".made-by-barnabas-pipeline-demo").touch()
    (left / "of an earlier one").touch()
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli", "pipeline", "demo", "--records", "3000"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "BARNABAS_SPARK_JARS": str(Path(spark_jars.split(",")[0]).parent)},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3,000 records, none missing, none twice." in done.stdout
    report = left / "report.html"
    assert report.as_uri() in done.stdout
    text = report.read_text()
    assert "Top pages" in text
    assert "Service errors" in text
    assert "/articles/" in text
    assert not (left / "broker.json").exists(), "the broker has ended"
    assert not (left / "of an earlier one").exists()


def test_a_directory_with_other_files_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("dear")
    assert main(["pipeline", "demo", "--directory", str(tmp_path)]) == 1
    assert "has files that are not the demo's: name another one by --directory." in capsys.readouterr().err
    assert (tmp_path / "mine").read_text() == "dear"


def test_what_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["pipeline", "demo", "--directory", str(tmp_path / "file" / "inner")]) == 1
    assert "cannot be written to" in capsys.readouterr().err
