"""A throw-away certificate authority and what a control plane on loopback needs of it: one server certificate."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = dt.timedelta(days=60)
_SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files of one throw-away public key infrastructure."""

    ca_file: Path
    server_certificate: Path
    server_key: Path
    service_account_key: Path


def issue(directory: Path) -> Certificates:
    """Write a new authority, a server certificate for loopback signed by it, and a key for service accounts."""
    ca_key, server_key, service_account_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    ca_name = _common_name("realbed-ca")
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    server = (
        _builder(_common_name("realbed-server"), ca_name, server_key.public_key())
        .add_extension(_loopback_names(), critical=False)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return Certificates(
        ca_file=_write(directory / "ca.crt", ca.public_bytes(serialization.Encoding.PEM)),
        server_certificate=_write(directory / "server.crt", server.public_bytes(serialization.Encoding.PEM)),
        server_key=_write(directory / "server.key", _pem(server_key)),
        service_account_key=_write(directory / "service-account.key", _pem(service_account_key)),
    )


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + _LIFETIME)
    )


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _loopback_names() -> x509.SubjectAlternativeName:
    addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    return x509.SubjectAlternativeName([*addresses, *(x509.DNSName(name) for name in _SERVER_NAMES)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def _write(path: Path, content: bytes) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path
