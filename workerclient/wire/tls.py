"""The TLS context of one cluster, made once from the certificates that its kubeconfig holds.

Thousands of certificates take a second. Where a caller must not wait, the context is made beforehand in a thread: what
is made once, or refused, is remembered by its content, for all clients of the cluster.
"""

import os
import ssl
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Final

_REMEMBERED: Final = 1024
_known: OrderedDict[bytes, ssl.SSLContext | str] = OrderedDict()
_lock = Lock()


def tls_context(authority: bytes | None, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext:
    """Return a verifying context from PEM strings; without an authority the system's trust store decides.

    Raises `ValueError` that names what is wrong without showing it.
    """
    parts = (sha256(b"" if part is None else b"1" + part).digest() for part in (authority, certificate, key))
    content = b"".join(parts)
    with _lock:
        found = _known.get(content)
        if found is not None:
            _known.move_to_end(content)
    if found is None:
        try:
            found = _made(authority, certificate, key)
        except ValueError as error:
            found = str(error)
        with _lock:
            _known[content] = found
            if len(_known) > _REMEMBERED:
                _known.popitem(last=False)
    if isinstance(found, str):
        raise ValueError(found)
    return found


def _made(authority: bytes | None, certificate: bytes | None, key: bytes | None) -> ssl.SSLContext:
    try:
        context = _trusting(authority)
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


def _trusting(authority: bytes | None) -> ssl.SSLContext:
    if authority is None:
        return ssl.create_default_context()
    authority.decode("ascii")
    with _private_file(authority) as path:  # from a file OpenSSL reads without keeping other threads from running
        return ssl.create_default_context(cafile=path)


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
