"""The edge of kubeconfig loading: from paths and Secrets to bytes. What judges the bytes is pure and elsewhere."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from config.kubeconfig.access import ClientCertificate, ClusterAccess, Material
from config.kubeconfig.confinement import confine
from config.kubeconfig.errors import KubeconfigError, KubeconfigReason
from config.kubeconfig.parser import KubeconfigParser
from config.kubeconfig.parsing import parse_kubeconfig
from config.reading.files import UnreadableFileError, read_bounded
from config.reading.problems import Problem
from config.reading.yaml_document import MAX_VALUES
from config.sections.sections import KubeconfigPolicy
from config.sections.settings import Configuration

MAX_KUBECONFIG_SIZE: Final = 128 << 10
"""Of a worker: one context, its certificates and a token have a few KiB."""
MAX_OWN_KUBECONFIG_SIZE: Final = 1 << 20
"""Of the hub: the operator names it, and it may hold many contexts."""
_MAX_MATERIAL_SIZE: Final = 1 << 20
_MAX_TOKEN_SIZE: Final = 64 << 10


def load_worker_kubeconfig(
    path: Path, policy: KubeconfigPolicy, context: str | None = None, parser: KubeconfigParser | None = None
) -> ClusterAccess:
    """Load a worker's kubeconfig from a file inside the allowed directories."""
    real_path = confine(path, policy.allowed_directories)
    raw = _read(real_path, "kubeconfig file", MAX_KUBECONFIG_SIZE)
    access = (parser or KubeconfigParser()).parse(str(path), raw, policy, context, real_path.parent)
    return with_files_read(access, policy.allowed_directories)


def load_hub_kubeconfig(path: Path, policy: KubeconfigPolicy, context: str | None = None) -> ClusterAccess:
    """Load the hub's kubeconfig: the operator names it, so it may lie anywhere; its content is held to the policy."""
    raw = _read(path, "kubeconfig file", MAX_OWN_KUBECONFIG_SIZE, confined=False)
    access = parse_kubeconfig(raw, policy, context, path.parent, max_values=MAX_VALUES)
    return with_files_read(access, policy.allowed_directories)


def load_secret_kubeconfig(
    secret: str,
    data: Mapping[str, str],
    key: str,
    policy: KubeconfigPolicy,
    context: str | None = None,
    parser: KubeconfigParser | None = None,
) -> ClusterAccess:
    """Load a worker's kubeconfig from the `data` of a Secret as the API server sends it (base64 strings)."""
    if key not in data:
        raise KubeconfigError(KubeconfigReason.BAD, f'key "{key}" not found in secret "{secret}"')
    try:
        raw = base64.b64decode(str(data[key]), validate=True)
    except (binascii.Error, ValueError):
        raise KubeconfigError(KubeconfigReason.BAD, f'key "{key}" of secret "{secret}" is not base64') from None
    if len(raw) > MAX_KUBECONFIG_SIZE:
        message = f'key "{key}" of secret "{secret}" has {len(raw)} bytes: must be at most {MAX_KUBECONFIG_SIZE}'
        raise KubeconfigError(KubeconfigReason.BAD, message)
    access = (parser or KubeconfigParser()).parse(f"{secret}/{key}", raw, policy, context)
    return with_files_read(access, policy.allowed_directories)


def with_files_read(access: ClusterAccess, directories: Iterable[Path]) -> ClusterAccess:
    """Return the access with certificates and keys in place of the files that hold them.

    A token file stays a path, confined: it is read repeatedly, because it is renewed from outside.
    """
    allowed = tuple(directories)
    certificate = access.client_certificate
    if certificate is not None:
        certificate = ClientCertificate(
            _content(certificate.certificate, "client-certificate", allowed),
            _content(certificate.key, "client-key", allowed),
        )
    return replace(
        access,
        ca=None if access.ca is None else _content(access.ca, "certificate-authority", allowed),
        client_certificate=certificate,
        token_file=None if access.token_file is None else confine(access.token_file, allowed),
    )


def read_token_file(path: Path) -> bytes:
    """Return what a token file holds now; raises `UnreadableFileError`. A link is followed: volumes consist of them."""
    return read_bounded(path, _MAX_TOKEN_SIZE, regular=True)


def kubeconfig_problems(configuration: Configuration) -> Iterator[Problem]:
    """Yield what is wrong with the kubeconfig files that the configuration names, the hub's and the workers'."""
    policy, hub = configuration.kubeconfig_policy, configuration.hub
    try:
        if hub.kubeconfig:
            load_hub_kubeconfig(hub.kubeconfig, policy, hub.context)
    except KubeconfigError as error:
        yield Problem(str(error), "hub.kubeconfig", str(hub.kubeconfig))
    for index, worker in enumerate(configuration.workers):
        path = worker.kubeconfig.path if worker.kubeconfig else None
        try:
            if path:
                load_worker_kubeconfig(path, policy, worker.context)
        except KubeconfigError as error:
            yield Problem(str(error), f"workers[{index}].kubeconfig.path", str(path))


def _content(material: Material, what: str, allowed: tuple[Path, ...]) -> bytes:
    return (
        material
        if isinstance(material, bytes)
        else _read(confine(material, allowed), f"{what} file", _MAX_MATERIAL_SIZE)
    )


def _read(path: Path, what: str, limit: int, *, confined: bool = True) -> bytes:
    try:
        return read_bounded(path, limit, confined=confined)
    except UnreadableFileError as error:
        raise KubeconfigError(KubeconfigReason.BAD, f'{what} "{path}" {error}') from error
