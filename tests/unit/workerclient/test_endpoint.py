"""What an access says becomes a verifying TLS context and the right credentials, or an error that shows no secret."""

import ssl
from pathlib import Path

import pytest

from config.kubeconfig.access import ClientCertificate, ClusterAccess, ExecPlugin
from localcluster.serving.tls import Certificates, issue_certificates
from tests.support.virtual_time import VirtualClock
from workerclient.transport.credentials import FetchedCredentials, FixedCredentials
from workerclient.transport.endpoint import credentials_for, endpoint_for, prepare_endpoint

PLUGIN = ExecPlugin("plugin", "client.authentication.k8s.io/v1")


@pytest.fixture(scope="module")
def certificates() -> Certificates:
    return issue_certificates("w1")


def test_the_server_is_always_verified(certificates: Certificates) -> None:
    access = ClusterAccess("https://w1:6443", ca=certificates.authority, tls_server_name="w1.internal")
    endpoint = endpoint_for(access)
    assert endpoint.tls.verify_mode is ssl.CERT_REQUIRED
    assert endpoint.tls.check_hostname
    assert endpoint.tls.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert len(endpoint.tls.get_ca_certs()) == 1
    assert endpoint.server_name == "w1.internal"


def test_certificates_may_be_files(certificates: Certificates, tmp_path: Path) -> None:
    authority, key = tmp_path / "ca.crt", tmp_path / "tls.key"
    authority.write_bytes(certificates.authority)
    key.write_bytes(certificates.server_key)
    endpoint = endpoint_for(
        ClusterAccess("https://w1", ca=authority, client_certificate=ClientCertificate(certificates.server, key))
    )
    assert len(endpoint.tls.get_ca_certs()) == 1


def bad_accesses(good: Certificates) -> dict[str, tuple[ClusterAccess, str]]:
    other = issue_certificates("other")
    missing = Path("/nonexistent/ca.crt")
    mismatch = ClientCertificate(good.server, other.server_key)
    nonsense = ClientCertificate(b"secret", b"secret")
    return {
        "not PEM": (ClusterAccess("https://w1", ca=b"secret"), "the certificate authority is not a PEM certificate"),
        "not text": (ClusterAccess("https://w1", ca=b"\xff"), "the certificate authority is not a PEM certificate"),
        "no file": (ClusterAccess("https://w1", ca=missing), "the certificate authority cannot be read: No such file"),
        "another key": (ClusterAccess("https://w1", client_certificate=mismatch), "do not belong together"),
        "no certificate": (ClusterAccess("https://w1", client_certificate=nonsense), "are not PEM or do not belong"),
    }


@pytest.mark.parametrize("case", ["not PEM", "not text", "no file", "another key", "no certificate"])
def test_what_cannot_be_used_is_named_and_not_shown(certificates: Certificates, case: str) -> None:
    access, want = bad_accesses(certificates)[case]
    with pytest.raises(ValueError, match=want) as caught:
        endpoint_for(access)
    assert "secret" not in str(caught.value)


async def test_credentials_are_those_of_the_access() -> None:
    clock = VirtualClock()
    assert isinstance(credentials_for(ClusterAccess("https://w1", token="t"), clock, {}), FixedCredentials)
    assert isinstance(credentials_for(ClusterAccess("https://w1"), clock, {}), FixedCredentials)
    file = ClusterAccess("https://w1", token_file=Path("/token"))
    assert isinstance(credentials_for(file, clock, {}), FetchedCredentials)
    assert isinstance(credentials_for(ClusterAccess("https://w1", exec_plugin=PLUGIN), clock, {}), FetchedCredentials)


def test_S4_the_same_certificates_are_read_once_for_all_clients(certificates: Certificates) -> None:
    made = endpoint_for(ClusterAccess("https://w1", ca=certificates.authority)).tls
    assert endpoint_for(ClusterAccess("https://w2", ca=certificates.authority)).tls is made
    certificate = ClientCertificate(certificates.server, certificates.server_key)
    own = endpoint_for(ClusterAccess("https://w1", ca=certificates.authority, client_certificate=certificate)).tls
    assert own is not made
    assert endpoint_for(ClusterAccess("https://w1")).tls is not made


def test_S4_what_was_refused_is_not_read_again(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str | None] = []
    read = ssl.create_default_context

    def counted(*, cafile: str | None = None) -> ssl.SSLContext:
        reads.append(cafile)
        return read(cafile=cafile)

    monkeypatch.setattr(ssl, "create_default_context", counted)
    broken = certificates.authority + b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    prepare_endpoint(ClusterAccess("https://w1", ca=broken))
    for _ in range(3):
        with pytest.raises(ValueError, match="the certificate authority is not a PEM certificate"):
            endpoint_for(ClusterAccess("https://w1", ca=broken))
    assert len(reads) == 1
