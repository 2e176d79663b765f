"""One TLS handshake with a cluster, to see what a request would only say by failing: whose certificate, until when.

Nothing is sent beyond the handshake, no credential goes out. Behind a proxy nothing is seen, and nothing is said.
"""

import asyncio
import ssl
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509

from config.api.meta import NANOSECONDS
from config.kubeconfig.access import ClusterAccess
from gates.diagnosis.connection import Handshake, Trouble
from workerclient.base.clock import Clock
from workerclient.base.errors import excerpt
from workerclient.transport.endpoint import endpoint_for

_EXPIRED: Final = frozenset({9, 10})
"""OpenSSL's codes for a certificate that is not valid yet, or no longer."""
_MISNAMED: Final = frozenset({62, 63, 64})


async def shake_hands(access: ClusterAccess, clock: Clock, seconds: float) -> Handshake:
    """Connect and examine the certificate; raises `ValueError` for client certificates that cannot be used."""
    endpoint = endpoint_for(access)
    parts = urlsplit(access.server)
    if access.proxy_url is not None or parts.scheme != "https" or not parts.hostname:
        return Handshake(access.server)
    name = access.tls_server_name or parts.hostname
    try:
        async with clock.timeout(seconds):
            _, writer = await asyncio.open_connection(
                parts.hostname, parts.port or 443, ssl=endpoint.tls, server_hostname=name
            )
    except TimeoutError:
        return Handshake(access.server, Trouble.SILENT, f"no handshake within {seconds:g} s")
    except ssl.SSLCertVerificationError as error:
        return Handshake(access.server, _trouble(error.verify_code), excerpt(error.verify_message))
    except ssl.SSLError as error:
        return Handshake(access.server, Trouble.NOT_TLS, excerpt(error.reason or str(error)))
    except OSError as error:
        return Handshake(access.server, Trouble.UNREACHABLE, excerpt(error.strerror or str(error)))
    seen = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    return Handshake(access.server, certificate_ends_ns=_end_of(x509.load_der_x509_certificate(seen)))


def first_end(pem: bytes) -> int | None:
    """Return when the first of some PEM certificates ends; None for what holds none."""
    try:
        return min(_end_of(certificate) for certificate in x509.load_pem_x509_certificates(pem))
    except ValueError:
        return None


def _end_of(certificate: x509.Certificate) -> int:
    return int(certificate.not_valid_after_utc.timestamp()) * NANOSECONDS


def _trouble(code: int) -> Trouble:
    if code in _EXPIRED:
        return Trouble.EXPIRED
    return Trouble.MISNAMED if code in _MISNAMED else Trouble.UNTRUSTED
