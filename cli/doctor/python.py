"""Python itself, and the packages that are to be there."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata

from barnabas.cli.doctor.checks import Check, fail, good, unknown, warn

__all__ = ["check_python", "check_requirement"]

_OLDEST = (3, 11)
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^]]*\])?\s*([^;]*)")
_ORDINARY = "CPython"


def check_python() -> Iterator[Check]:
    version = platform.python_version()
    implementation = platform.python_implementation()
    if sys.version_info < _OLDEST:
        yield fail("python", version, "is too old", "install Python 3.11 or newer.")
    elif implementation != _ORDINARY:
        yield warn("python", version, f"is {implementation}", "use CPython: nothing else is tested.")
    else:
        yield good("python", version, sys.executable)
    try:
        requirements = metadata.requires("barnabas") or []
    except metadata.PackageNotFoundError:
        yield unknown("packages", "barnabas", "is not installed as a package: which it needs is not known")
        return
    for requirement in requirements:
        if "extra ==" not in requirement:
            yield check_requirement(requirement)


def check_requirement(requirement: str) -> Check:
    matched = _REQUIREMENT.match(requirement)
    assert matched is not None, requirement
    name, wanted = matched[1], matched[2].strip()
    advice = f"pip install '{name}{wanted}'"
    try:
        found = metadata.version(name)
    except metadata.PackageNotFoundError:
        return fail("package", name, "is missing", advice)
    for operator, bound in re.findall(r"(>=|<)\s*([\w.]+)", wanted):
        if (_parts(found) >= _parts(bound)) is not (operator == ">="):
            return fail("package", name, f"{found}, and {wanted} is needed", advice)
    return good("package", name, found)


def _parts(version: str) -> tuple[int, ...]:
    """Of 3.0.12 or 2.1rc1: the numbers; trailing zeros do not count."""
    numbers = [int(each) for each in re.findall(r"\d+", re.split(r"[a-zA-Z+]", version)[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
