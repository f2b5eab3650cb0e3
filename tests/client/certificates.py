"""An authority and what it signs, in PEM, made by openssl for the tests of one session."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["Certificates"]

_PATIENCE_S = 60


class Certificates:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.authority = self._authority("authority")
        self.other_authority = self._authority("other")
        self.server = self._signed("server", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        """Key and certificate in one file."""
        self.client = self._signed("client", "extendedKeyUsage=clientAuth")
        self.elsewhere = self._signed("elsewhere", "subjectAltName=DNS:kafka.example")

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            ["openssl", *arguments], cwd=self._directory, check=True, capture_output=True, timeout=_PATIENCE_S
        )

    def _authority(self, name: str) -> Path:
        self._run(
            *("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem"),
            *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        )
        return self._directory / f"{name}.pem"

    def _signed(self, name: str, extension: str) -> Path:
        (self._directory / f"{name}.extensions").write_text(
            f"{extension}\nauthorityKeyIdentifier=keyid\nsubjectKeyIdentifier=hash\n"
        )
        self._run(
            *("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.request"),
        )
        self._run(
            *("x509", "-req", "-in", f"{name}.request", "-CA", "authority.pem", "-CAkey", "authority.key"),
            *("-CAcreateserial", "-days", "2", "-extfile", f"{name}.extensions", "-out", f"{name}.pem"),
        )
        whole = self._directory / f"{name}-with-key.pem"
        whole.write_text("".join((self._directory / f"{name}.{suffix}").read_text() for suffix in ("key", "pem")))
        return whole
