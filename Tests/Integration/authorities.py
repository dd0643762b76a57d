"""Certificates that an operator's own authority would issue, to be put in place of an instance's."""

import datetime
import os
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def pem_of(key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def replace(path: pathlib.Path, content: bytes, mode: int = 0o600) -> None:
    """A whole file in place of another, by rename, as careful programs do it."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.chmod(mode)
    os.replace(new, path)


def put_server(instance, pair: tuple[bytes, bytes]) -> None:
    """Another server certificate and its key in the place of the instance's."""
    for name, content in zip(("server.pem", "server.key"), pair):
        replace(instance.directory / "pki" / name, content)


class Authority:
    """An authority with its key."""

    def __init__(self, certificate: x509.Certificate, key):
        self.certificate, self.key = certificate, key

    @classmethod
    def of(cls, instance) -> "Authority":
        """The instance's own, from its files."""
        directory = instance.directory / "pki"
        certificate = x509.load_pem_x509_certificate((directory / "ca.pem").read_bytes())
        return cls(certificate, serialization.load_pem_private_key((directory / "ca.key").read_bytes(), None))

    @classmethod
    def new(cls) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Another authority")])
        builder = cls._builder(name, key, datetime.datetime.now(datetime.timezone.utc) + 30 * DAY).issuer_name(name)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        builder = builder.add_extension(x509.BasicConstraints(True, 0), True).add_extension(usage, True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        return cls(builder.add_extension(identifier, False).sign(key, hashes.SHA256()), key)

    def server(self, days: int = 30) -> tuple[bytes, bytes]:
        """A new server certificate for this machine, and its key, both PEM. Negative `days` have passed."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        end = datetime.datetime.now(datetime.timezone.utc) + days * DAY
        builder = self._builder(name, key, end).issuer_name(self.certificate.subject)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return certificate.public_bytes(serialization.Encoding.PEM), pem_of(key)

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @staticmethod
    def _builder(name: x509.Name, key, end: datetime.datetime) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder().subject_name(name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(end - 60 * DAY).not_valid_after(end)
