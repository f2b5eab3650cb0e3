"""`barnabas doctor --local`: what it finds on a machine, and what it says of it."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.configuration.listeners import Endpoint, SecurityProtocol
from barnabas.cli.doctor import directories, local
from barnabas.cli.doctor.directories import Mount, check_directory, check_mount, check_space, mount_of, read_mounts
from barnabas.cli.doctor.local import check_clock, check_limits, check_machine, check_port
from barnabas.cli.doctor.python import check_requirement
from tests.cli.beside import Side, run
from tests.clients.broker_process import BrokerProcess


def test_a_machine_that_is_well(tmp_path: Path) -> None:
    ran = run("doctor", "--local", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data"), "--json")
    told = json.loads(ran.out)
    assert told["ok"] is True, told
    assert ran.code == 0
    names = {each["what"] for each in told["checks"]}
    assert {"python", "package", "configuration", "directory", "file system", "space", "port", "ulimit -n"} <= names
    assert {"own name", "clock", "time zone"} <= names
    assert not (tmp_path / "data").exists(), "looking makes nothing"


def test_a_broker_that_runs_here(ours: Side, our_broker: BrokerProcess) -> None:
    checks = check_machine(ours.bootstrap, str(our_broker.data_directory), None, [])
    found = {check.what: check for check in checks}
    assert found["lock"].state == "fail"
    assert "held by" in found["lock"].found
    assert found["port"].state == "fail"
    assert "a Kafka broker with " in found["port"].found
    assert found["directory"].state == "ok"


def test_configuration_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=none\nlog.retention.hours=x\n")
    ran = run("doctor", "--local", "--config", str(file))
    assert ran.code == 1
    assert "num.partitions=none" in ran.out
    assert "log.retention.hours=x" in ran.out
    file.write_text("no.such.key=1\n")
    ran = run("doctor", "--local", "--config", str(file), "--listen", "127.0.0.1:0", "--data", str(tmp_path / "d"))
    assert "no.such.key" in ran.out or ran.code == 0


def test_directories_of_two_nodes(tmp_path: Path) -> None:
    for number in (1, 2):
        directory = tmp_path / str(number)
        directory.mkdir()
        (directory / "meta.properties").write_text(f"version=1\ncluster.id=c\nnode.id={number}\n")
    both = f"log.dirs={tmp_path}/1,{tmp_path}/2"
    checks = check_machine("127.0.0.1:0", None, None, [both])
    wrong = [check for check in checks if check.what == "meta.properties"]
    assert wrong
    assert all(check.state == "fail" for check in wrong)
    (tmp_path / "2" / "meta.properties").write_text("version=one\n")
    checks = check_machine("127.0.0.1:0", None, None, [both])
    assert [check.state for check in checks if check.what == "meta.properties"].count("fail") == 1


def by_name(checks: Any) -> dict[str, Any]:
    return {check.what: check for check in checks}


def test_a_directory_that_may_not_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    check = by_name(check_directory(tmp_path))["directory"]
    assert check.state == "fail"
    assert "may not use it" in check.found
    assert "chown" in check.advice


def test_a_directory_that_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for path in (file, file / "below"):
        check = by_name(check_directory(path))["directory"]
        assert check.state == "fail"
        assert f"{file} is no directory" in check.found


def test_files_from_the_future(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    segment = tmp_path / "orders-0" / "00000000000000000000.log"
    segment.write_bytes(b"")
    assert "times" not in by_name(check_directory(tmp_path))
    then_s = time.time() + 3600
    os.utime(segment, (then_s, then_s))
    check = by_name(check_directory(tmp_path))["times"]
    assert check.state == "warn"
    assert "s from now" in check.found


def test_a_lock_that_nobody_holds_stays(tmp_path: Path) -> None:
    assert by_name(check_directory(tmp_path))["lock"].state == "ok"
    assert not (tmp_path / ".lock").exists()
    (tmp_path / ".lock").write_text("")
    assert by_name(check_directory(tmp_path))["lock"].state == "ok"


MOUNTS = [
    Mount(Path("/"), "ext4"),
    Mount(Path("/data"), "nfs4"),
    Mount(Path("/data/fast"), "ext4"),
    Mount(Path("/data/fast"), "tmpfs"),
]


@pytest.mark.parametrize(
    ("path", "kind", "state"),
    [
        ("/home/x", "ext4", "ok"),
        ("/data/x", "nfs4", "warn"),
        ("/data/fast/x", "tmpfs", "warn"),
        ("/database", "ext4", "ok"),
    ],
)
def test_what_a_directory_lies_on(path: str, kind: str, state: str) -> None:
    mount = mount_of(Path(path), MOUNTS)
    assert mount is not None
    assert mount.kind == kind
    check = check_mount(path, mount)
    assert check.state == state
    assert kind in check.found


def test_mounts_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(mount.place == Path("/") for mount in read_mounts())
    table = tmp_path / "mounts"
    table.write_text("disk /with\\040space ext4 rw 0 0\n")
    monkeypatch.setattr(directories, "_MOUNTS", table)
    assert read_mounts() == [Mount(Path("/with space"), "ext4")]
    monkeypatch.setattr(directories, "_MOUNTS", tmp_path / "none")
    assert read_mounts() == []
    assert check_mount("/x", mount_of(tmp_path, [])).state == "unknown"


def test_room() -> None:
    assert check_space("/x", 1 << 29, 1 << 40).state == "warn"
    assert check_space("/x", 1 << 29, 1 << 31).state == "ok", "a small disk is no full one"
    assert check_space("/x", 1 << 35, 1 << 40).state == "ok"


def endpoint(host: str | None, port: int) -> Endpoint:
    return Endpoint("PLAINTEXT", SecurityProtocol.PLAINTEXT, host, port)


def test_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_DIAL_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (check,) = check_port(endpoint("127.0.0.1", taken.getsockname()[1]))
        assert check.state == "fail"
        assert "taken: " in check.found
        port = taken.getsockname()[1]
    (check,) = check_port(endpoint("127.0.0.1", port))
    assert check.state == "ok"
    (check,) = check_port(endpoint(None, 0))
    assert check.found == "any that is free"
    (check,) = check_port(endpoint("192.0.2.1", port))
    assert check.state == "fail"
    assert check.advice == "name an address of this machine."


def test_limits() -> None:
    assert by_name(check_limits((1024, 4096)))["ulimit -n"].state == "warn"
    assert by_name(check_limits((1024, 1_000_000)))["ulimit -n"].state == "ok"
    assert by_name(check_limits((1024, -1)))["ulimit -n"].found == "without limit"


def test_clocks() -> None:
    assert by_name(check_clock(0.0, ("UTC", "UTC"), {}))["clock"].state == "fail"
    good = by_name(check_clock(1_800_000_000.0, ("CET", "CEST"), {"TZ": ""}))
    assert (good["clock"].state, good["time zone"].found) == ("ok", "CET")
    assert by_name(check_clock(1_800_000_000.0, ("X", "X"), {"TZ": "No/Where"}))["time zone"].state == "warn"


@pytest.mark.parametrize(
    ("requirement", "state", "found"),
    [
        ("pytest", "ok", ""),
        ("pytest>=1.0", "ok", ""),
        ("pytest>=999,<1000", "fail", "is needed"),
        ("pytest<2; python_version > '3'", "fail", "is needed"),
        ("no-such-package>=1", "fail", "is missing"),
    ],
)
def test_packages(requirement: str, state: str, found: str) -> None:
    check = check_requirement(requirement)
    assert check.state == state
    assert found in check.found
    assert (check.advice is not None) is (state == "fail")


def test_permissions_are_this_users(tmp_path: Path) -> None:
    check = by_name(check_directory(tmp_path))["directory"]
    assert stat.S_ISDIR(tmp_path.stat().st_mode)
    assert check.found.startswith("there, ")
