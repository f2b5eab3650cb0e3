from __future__ import annotations

import shutil

import pytest

from .certificates import Certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on the PATH")
    return Certificates(tmp_path_factory.mktemp("certificates"))
