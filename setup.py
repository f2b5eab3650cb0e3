"""What pyproject.toml cannot say: with BARNABAS_COMPILE=1 the modules that it lists become C on the way into a wheel.

docs/decisions/0013-compiled-modules.md has the reasons, and what such a module has to keep to.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
import tomllib
from pathlib import Path

from setuptools import Extension, setup


def extensions() -> list[Extension]:
    if not (shutil.which("cc") and Path(sysconfig.get_path("include"), "Python.h").exists()):
        raise SystemExit("BARNABAS_COMPILE=1 takes a C compiler and Python's headers: apt install gcc python3-dev")
    from mypyc.build import mypycify

    modules = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["barnabas"]["compiled"]
    # Below this link they have the names by which mypy knows them.
    return mypycify([f".typecheck/barnabas/{module}" for module in modules], group_name="barnabas", multi_file=True)


setup(ext_modules=extensions() if os.environ.get("BARNABAS_COMPILE") == "1" else [])
