"""A CA and certificates, made when a test asks for them."""

from __future__ import annotations

import datetime as dt
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = dt.timedelta(days=1)


class Authority:
    """A CA whose certificate is `pem`, a file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder = folder
        self.pem = folder / f"{name}.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        built = self._builder(self._name, self._key).add_extension(constraints, True).add_extension(usage, True)
        self.pem.write_bytes(_pem(built.sign(self._key, hashes.SHA256())))

    def issue(self, name: str, *alternatives: str, ended: bool = False) -> tuple[Path, Path]:
        """Certificate and key for these DNS names and addresses; `ended` yesterday."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.IPAddress(ip_address(a)) if a[0].isdigit() else x509.DNSName(a) for a in alternatives]
        built = self._builder(_name(name), key, ended=ended).add_extension(x509.SubjectAlternativeName(names), False)
        certificate, private = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        certificate.write_bytes(_pem(built.sign(self._key, hashes.SHA256())))
        kind = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        private.write_bytes(key.private_bytes(*kind))
        return certificate, private

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ended: bool = False):
        now = dt.datetime.now(dt.UTC)  # noqa: TID251  certificates are of the real day
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 3 * DAY)
            .not_valid_after(now - DAY if ended else now + DAY)
        )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
