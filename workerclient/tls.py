"""The TLS context of one cluster, made once from the certificates that its kubeconfig holds."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile


def tls_context(authority_pem: str | None, certificate_pem: str | None, key_pem: str | None) -> ssl.SSLContext:
    """Return a verifying context; without an authority the system's trust store decides.

    Raises `ValueError` that names what is wrong, without showing it.
    """
    try:
        context = ssl.create_default_context(cadata=authority_pem)
    except ssl.SSLError as error:
        raise ValueError("the certificate authority is not a PEM certificate") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate_pem is None or key_pem is None:
        return context
    # OpenSSL's loader takes paths only; both parts in one file that never has a name on disk where the system allows.
    with _unnamed_file(f"{certificate_pem}\n{key_pem}".encode()) as path:
        try:
            context.load_cert_chain(path)
        except ssl.SSLError as error:
            raise ValueError("the client certificate and its key are not PEM or do not belong together") from error
    return context


@contextmanager
def _unnamed_file(content: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("client-certificate")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
