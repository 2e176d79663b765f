"""The TLS context of one cluster, made once from the certificates that its kubeconfig holds."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile


def tls_context(authority: bytes | None, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext:
    """Return a verifying context from PEM texts; without an authority the system's trust store decides.

    Raises `ValueError` that names what is wrong without showing it.
    """
    try:
        context = ssl.create_default_context(cadata=None if authority is None else authority.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise ValueError("the certificate authority is not a PEM certificate") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if certificate is None or key is None:
        return context
    # OpenSSL's loader takes paths only, so both parts go into one file; on Linux that never has a name on a disk.
    with _private_file(certificate + b"\n" + key) as path:
        try:
            context.load_cert_chain(path)
        except ssl.SSLError as error:
            raise ValueError("the client certificate and its key are not PEM or do not belong together") from error
    return context


@contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("client-certificate"), "wb") as memory:
            memory.write(content)
            memory.flush()
            yield f"/proc/self/fd/{memory.fileno()}"
        return
    with NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
