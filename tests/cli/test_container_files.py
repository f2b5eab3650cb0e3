"""Dockerfile and docker-compose.yml without a container engine: their syntax, and the very commands that they name."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kafka.broker import free_ports

from .starting import StartedBroker

ROOT = Path(__file__).resolve().parents[2]
OF_THE_BUILD = {"FROM", "RUN", "COPY", "WORKDIR"}
OF_THE_IMAGE = {"FROM", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}


def stages() -> list[list[tuple[str, str]]]:
    """Of each stage its instructions: one makes the wheel, the other is the image."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", "")
    found: list[list[tuple[str, str]]] = []
    for line in filter(None, text.splitlines()):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def instructions() -> dict[str, str]:
    lines = stages()[-1]
    found = dict(lines)
    assert len(found) == len(lines)
    return found


def service() -> dict[str, Any]:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert compose.keys() == {"services", "volumes"}
    (found,) = compose["services"].values()
    assert {volume.split(":")[0] for volume in found["volumes"]} == compose["volumes"].keys()
    return dict(found)


def test_the_dockerfile_installs_this_package_and_starts_its_command() -> None:
    found = instructions()
    assert found.keys() == OF_THE_IMAGE
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (entry,) = json.loads(found["ENTRYPOINT"])
    assert entry in project["scripts"]
    minor = re.fullmatch(r"python:3\.(\d+)-slim", found["FROM"])
    assert minor is not None
    assert f"Programming Language :: Python :: 3.{minor[1]}" in project["classifiers"]


def test_the_image_has_the_compiled_wheel_of_the_stage_before() -> None:
    build, image = stages()
    assert {word for word, _ in build} == OF_THE_BUILD
    assert build[0] == ("FROM", f"{instructions()['FROM']} AS build")
    assert "BARNABAS_COMPILE=1 pip wheel " in build[-1][1]
    assert "--wheel-dir /wheels" in build[-1][1]
    assert ("COPY", "--from=build /wheels /wheels") in image
    assert "pip install --no-cache-dir /wheels/*.whl" in instructions()["RUN"]


def test_the_image_gets_all_that_the_package_is_made_of() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text())
    directories = set(setup["tool"]["setuptools"]["package-dir"].values())
    assert directories | {".typecheck", "LICENSE", "README.md", "pyproject.toml", "setup.py"} == let_in
    assert lines[1] == "*"


def test_the_volume_is_where_the_data_is() -> None:
    found = service()
    assert found["volumes"] == ["data:/data"]
    assert "--data=/data" in found["command"]
    assert instructions()["VOLUME"] == "/data"
    assert [port.rpartition(":")[2] for port in found["ports"]] == ["9092"]


def here(command: list[str], data: Path, ports: dict[str, int]) -> list[str]:
    """The same command, with a directory of this test's and ports that are free."""
    moved = [re.sub(r"/data\b", str(data), each) for each in command]
    for port, free in ports.items():
        moved = [re.sub(rf":{port}\b", f":{free}", each) for each in moved]
    return moved


@pytest.mark.slow
@pytest.mark.parametrize("of", ["compose", "dockerfile"])
def test_the_command_starts_a_broker_that_its_health_check_finds(of: str, tmp_path: Path) -> None:
    outer, inner = free_ports(2)
    ports = {"9092": outer, "19092": inner}
    command = service()["command"] if of == "compose" else json.loads(instructions()["CMD"])
    assert command[0] == "start"
    data = tmp_path / "volume"
    with StartedBroker(tmp_path, *here(command, data, ports)[1:], listen=None) as broker:
        broker.wait_ready()
        kind, program, *check = service()["healthcheck"]["test"]
        assert (kind, program) == ("CMD", "python")
        check = here(check, data, ports)
        assert subprocess.run([sys.executable, *check], check=False, capture_output=True).returncode == 0
        assert (data / "meta.properties").exists()
        broker.signal()
        assert broker.wait() == 0
    assert subprocess.run([sys.executable, *check], check=False, capture_output=True).returncode == 1
