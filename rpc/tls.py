"""TLS of the gRPC door: files named in the environment, read and tried out before anything listens."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from flowsched.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Files:
    """PEM files: the server's certificate chain, its key, and who signs clients' certificates; None: not given."""

    certificate: Path | None = None
    key: Path | None = None
    client_ca: Path | None = None

    def __str__(self) -> str:
        """How a log line names it."""
        if self.certificate is None:
            return "without TLS"
        return "TLS" if self.client_ca is None else "TLS, clients show certificates"


def credentials(files: Files) -> grpc.ServerCredentials | None:
    """What a secure port needs; None without a certificate. With a client CA every client must show a certificate.

    Raises InvalidInput that names the variable at fault.
    """
    if files.certificate is None and files.key is None:
        if files.client_ca is not None:
            raise InvalidInput(
                "FLOWSCHED_GRPC_CLIENT_CA is set without FLOWSCHED_GRPC_CERT and FLOWSCHED_GRPC_KEY: clients show "
                "certificates to a server that has one; set those too",
                field="FLOWSCHED_GRPC_CLIENT_CA",
            )
        return None
    if files.certificate is None or files.key is None:
        missing = "FLOWSCHED_GRPC_CERT" if files.certificate is None else "FLOWSCHED_GRPC_KEY"
        raise InvalidInput(f"{missing} is not set: a certificate and its key go together", field=missing)
    certificate = _read(files.certificate, "FLOWSCHED_GRPC_CERT")
    key = _read(files.key, "FLOWSCHED_GRPC_KEY")
    client_ca = None if files.client_ca is None else _read(files.client_ca, "FLOWSCHED_GRPC_CLIENT_CA")
    _try_out(files)
    return grpc.ssl_server_credentials(
        [(key, certificate)], root_certificates=client_ca, require_client_auth=client_ca is not None
    )


def _read(path: Path, variable: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{variable}: {path} cannot be read: {error.strerror}", field=variable) from error


def _try_out(files: Files) -> None:
    """Load the files once by the standard library, whose errors say which it was; grpcio's only say no."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    assert files.certificate is not None
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise InvalidInput(
            "FLOWSCHED_GRPC_CERT and FLOWSCHED_GRPC_KEY are no certificate and its unencrypted key, in PEM: "
            f"{_reason(error)}",
            field="FLOWSCHED_GRPC_CERT",
        ) from error
    if files.client_ca is not None:
        try:
            context.load_verify_locations(files.client_ca)
        except ssl.SSLError as error:
            raise InvalidInput(
                f"FLOWSCHED_GRPC_CLIENT_CA is no certificate in PEM: {_reason(error)}", field="FLOWSCHED_GRPC_CLIENT_CA"
            ) from error


def _no_password() -> str:
    """Instead of a prompt at the terminal."""
    return ""


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or error).replace("_", " ").lower()
