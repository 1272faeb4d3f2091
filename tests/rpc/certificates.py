"""Certificates made when a test asks for them, by the openssl program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import grpc

from rpc.tls import Files

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Authority:
    """A CA with a folder of its own."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self.folder = folder / name
        self.folder.mkdir()
        self.pem = self.folder / "ca.pem"
        self.key = self.folder / "ca.key"
        openssl("req", "-x509", *KEY, "-keyout", self.key, "-out", self.pem, "-subj", f"/CN={name}", "-days", "2")

    def issue(self, name: str, alternative: str = "", days: int = 2) -> tuple[Path, Path]:
        """The certificate and key of `name`; `days=0` is over within the second."""
        pem, key, csr, extra = (self.folder / f"{name}.{end}" for end in ("pem", "key", "csr", "ext"))
        openssl("req", *KEY, "-keyout", key, "-out", csr, "-subj", f"/CN={name}")
        extra.write_text(f"subjectAltName={alternative}" if alternative else "basicConstraints=CA:FALSE")
        signed_by = ["-CA", self.pem, "-CAkey", self.key, "-CAcreateserial"]
        openssl("x509", "-req", "-in", csr, *signed_by, "-out", pem, "-days", str(days), "-extfile", extra)
        return pem, key

    def server(self, *, client_ca: Path | None = None) -> Files:
        """The files of a server on this machine."""
        return Files(*self.issue("server", "DNS:localhost,IP:127.0.0.1"), client_ca)

    def client(self, pair: tuple[Path, Path] | None = None) -> grpc.ChannelCredentials:
        """What a client needs that trusts this CA and shows `pair`."""
        shown = {} if pair is None else {"certificate_chain": pair[0].read_bytes(), "private_key": pair[1].read_bytes()}
        return grpc.ssl_channel_credentials(self.pem.read_bytes(), **shown)


def openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60)
