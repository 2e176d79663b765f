"""From the access that a kubeconfig grants to what a session needs: an address with TLS, and credentials."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from config.kubeconfig.access import ClusterAccess, Material
from workerclient.base.clock import Clock
from workerclient.transport.credentials import Credentials, FetchedCredentials, FixedCredentials, TokenFile
from workerclient.transport.exec_plugin import ExecTokens
from workerclient.transport.http_session import HttpSession
from workerclient.transport.session import SessionContext
from workerclient.wire.exchanges import Endpoint
from workerclient.wire.tls import tls_context


def endpoint_for(access: ClusterAccess) -> Endpoint:
    """Return where to connect; raises `ValueError` that says which certificate cannot be used."""
    certificate = access.client_certificate
    context = tls_context(
        _content(access.ca, "certificate authority"),
        _content(certificate.certificate, "client certificate") if certificate else None,
        _content(certificate.key, "client key") if certificate else None,
    )
    return Endpoint(access.server, context, access.tls_server_name, access.proxy_url)


def open_http_session(access: ClusterAccess, context: SessionContext) -> HttpSession:
    """Return the connections to a cluster; raises `ValueError` that says which certificate cannot be used."""
    return HttpSession(endpoint_for(access), context)


def prepare_endpoint(access: ClusterAccess) -> ClusterAccess:
    """Make what takes long of an endpoint beforehand, in any thread; errors are reported when it is used."""
    with suppress(ValueError):
        endpoint_for(access)
    return access


def credentials_for(access: ClusterAccess, clock: Clock, plugin_environment: Mapping[str, str]) -> Credentials:
    """Return what proves who we are, beyond a client certificate."""
    if access.token_file is not None:
        return FetchedCredentials(TokenFile(access.token_file), clock)
    if access.exec_plugin is not None:
        return FetchedCredentials(ExecTokens(access.exec_plugin, access, clock, plugin_environment), clock)
    return FixedCredentials(access.token)


def _content(material: Material | None, what: str) -> bytes | None:
    if not isinstance(material, Path):
        return material
    try:
        return material.read_bytes()
    except OSError as error:
        raise ValueError(f"the {what} cannot be read: {error.strerror}") from error
