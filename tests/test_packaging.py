"""The package as users get it: a wheel, a plain install, and an import that does not load what nobody asked for."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NO_CODE = {"bench", "compat", "docs", "setup.py", "tests"}

IMPORT_ALL = """
import importlib, pkgutil, sys
import barnabas
from barnabas.pipeline.failures import PipelineFailed
names = [module.name for module in pkgutil.walk_packages(barnabas.__path__, "barnabas.")]
for name in names:
    try:
        importlib.import_module(name)
    except (ModuleNotFoundError, PipelineFailed) as missing:
        assert name.startswith("barnabas.pipeline."), name
        # What the extra `spark` brings.
        assert any(each in str(missing).lower() for each in ("confluent", "numpy", "py4j", "pyarrow", "pyspark"))
        continue
    assert sys.modules[name].__file__.startswith(sys.prefix), sys.modules[name].__file__
print(*names)
"""

TYPED = """
from barnabas.testing import Broker

def test_typed(kafka: Broker) -> None:
    kafka.clock.advance(hours=1)
    assert kafka.wait_for("orders", count=3, timeout=0.5)[0].text == "7"
    with kafka.fail_next("Produce", "NOT_ENOUGH_REPLICAS", times=None) as fault:
        assert fault.met == 0

def test_wrong(kafka: Broker) -> None:
    kafka.clock.advnce(hours=1)  # type: ignore[attr-defined]
    kafka.wait_for("orders", cuont=3)  # type: ignore[call-arg]
    kafka.records(7)  # type: ignore[arg-type]
    kafka.groups()["billing"].members[0].nmae  # type: ignore[attr-defined]
"""
"""What is right and what is wrong in somebody's tests: an ignored error that is none is one."""


def run(*command: object) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd="/", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def modules_in_the_tree() -> set[str]:
    files = subprocess.run(["git", "ls-files", "*.py"], capture_output=True, text=True, cwd=ROOT, check=True).stdout
    paths = [Path(line) for line in files.split() if Path(line).parts[0] not in NO_CODE]
    dotted = {".".join(["barnabas", *path.with_suffix("").parts]) for path in paths}
    return {name.removesuffix(".__init__") for name in dotted}


@pytest.mark.slow
def test_the_wheel_has_every_module_and_each_can_be_imported(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, "pytest")
    imported = set(run(python, "-c", IMPORT_ALL).split())
    assert imported == modules_in_the_tree()
    assert "@pytest.mark.kafka(" in run(python, "-m", "pytest", "--markers")
    (tmp_path / "test_typed.py").write_text(TYPED)
    strict = ("--strict", "--python-executable", python, "--cache-dir", tmp_path / "mypy", tmp_path / "test_typed.py")
    assert "no issues found" in run(sys.executable, "-m", "mypy", *strict)


def test_every_directory_of_code_is_packaged() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = {name.rpartition(".")[0] for name in modules_in_the_tree()} - {"barnabas"}
    assert packages == set(declared)


def test_importing_the_codec_loads_no_message_and_no_compression() -> None:
    code = "import barnabas.protocol.frames, barnabas.protocol.batches, sys; print(*sys.modules)"
    loaded = set(run(sys.executable, "-c", code).split())
    messages = {name for name in loaded if name.startswith("barnabas.protocol.messages.")}
    assert messages == {"barnabas.protocol.messages.header"}
    assert not loaded & {"zstandard", "lz4", "snappy", "cramjam", "crc32c", "trio", "kio"}
