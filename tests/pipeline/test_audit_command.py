"""`barnabas pipeline audit`, asked in ways that cannot be understood, or without what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli.main import main


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--since", "2026-02-01", "--until", "2026-01-31"], "--since is not before --until."),
        (["--since", "2026-01-31", "--until", "2026-01-31"], "--since is not before --until."),
        (["--since", "soon"], "--since soon is no time"),
        (["--html", "no/such/report.html"], "--html no/such/report.html: there is no such directory."),
        (["orders"], "orders"),
    ],
)
def test_wrong_use(
    flags: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["pipeline", "audit", *flags])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_without_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "audit", "--config", str(tmp_path / "pipeline.toml")]) == 1
    assert "cannot be read: No such file or directory. Name the pipeline's settings" in capsys.readouterr().err
