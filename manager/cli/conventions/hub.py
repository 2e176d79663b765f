"""Which hub a command reads, and which namespace: chosen from kubeconfigs as kubectl chooses.

The kubeconfig is that of whoever runs the command, so it may name commands and files of theirs.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from config.files import UnreadableFileError, read_bounded
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.options import HubOptions, NamespaceOption, Scope

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess

_MAX_SIZE: Final = 1 << 20
_DEFAULT_NAMESPACE: Final = "default"


class Kubeconfig(NamedTuple):
    """The file that describes the context to use."""

    path: Path
    context: str | None
    namespace: str


class NoKubeconfigError(BadInputError):
    """There is none; the message says where it was looked for."""


def find_kubeconfig(options: HubOptions, environment: Mapping[str, str] = os.environ) -> Kubeconfig:
    """Find the file that has the wanted context: of several in $KUBECONFIG, the first that has it."""
    paths = _candidates(options, environment)
    documents = [(path, _document(path)) for path in paths if options.kubeconfig is not None or path.is_file()]
    if not documents:
        looked = ", ".join(str(path) for path in paths)
        raise NoKubeconfigError(f"there is no kubeconfig ({looked}); name the hub's with --kubeconfig")
    currents = (str(document.get("current-context") or "") for _, document in documents)
    wanted = options.context or next(filter(None, currents), "")
    if not wanted:
        raise BadInputError(f"{documents[0][0]} has no current-context; name one with --context")
    for path, document in documents:
        if (context := _context(document, wanted)) is not None:
            return Kubeconfig(path, wanted, str(context.get("namespace") or _DEFAULT_NAMESPACE))
    raise BadInputError(f'there is no context "{wanted}" in {", ".join(str(path) for path, _ in documents)}')


def namespace_of(
    chosen: NamespaceOption, options: HubOptions, environment: Mapping[str, str] = os.environ
) -> str | None:
    """Return the namespace to show; None for all: where that is asked for, and where no kubeconfig names one."""
    if isinstance(chosen, Scope) and chosen.all_namespaces:
        if chosen.namespace is not None:
            raise BadInputError("--namespace and --all-namespaces exclude each other; give one of them")
        return None
    if chosen.namespace is not None:
        return _checked(chosen.namespace)
    try:
        return find_kubeconfig(options, environment).namespace
    except NoKubeconfigError:
        if options.kubeconfig is not None or options.context is not None:
            raise
        return None


def hub_access(options: HubOptions, environment: Mapping[str, str] = os.environ) -> "ClusterAccess":
    """Return the access to the hub that the options lead to; raises `BadInputError`."""
    found = find_kubeconfig(options, environment)
    from config.kubeconfig.errors import KubeconfigError
    from config.kubeconfig.sources import load_hub_kubeconfig
    from config.sections import KubeconfigPolicy

    path = found.path.resolve()
    own = tuple(directory for directory in (path.parent, Path.home()) if directory != Path("/"))
    policy = KubeconfigPolicy(allowed_directories=own, allow_exec_plugins=True, allow_file_references=True)
    try:
        return load_hub_kubeconfig(path, policy, found.context)
    except KubeconfigError as error:
        raise BadInputError(f"kubeconfig {found.path}: {error}") from None


def _candidates(options: HubOptions, environment: Mapping[str, str]) -> list[Path]:
    if options.kubeconfig is not None:
        return [options.kubeconfig]
    listed = [Path(each) for each in environment.get("KUBECONFIG", "").split(os.pathsep) if each]
    return listed or [Path(environment.get("HOME") or "/") / ".kube" / "config"]


def _document(path: Path) -> dict[str, Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(read_bounded(path, _MAX_SIZE), Loader=loader)  # noqa: S506 - both are safe loaders
    except UnreadableFileError as error:
        raise BadInputError(f"kubeconfig {path} {error}") from None
    except (yaml.YAMLError, ValueError):
        raise BadInputError(f"kubeconfig {path} is not YAML") from None
    if not isinstance(document, dict):
        raise BadInputError(f"kubeconfig {path} is not a kubeconfig: it must be a mapping")
    return document


def _context(document: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    contexts = document.get("contexts")
    for entry in contexts if isinstance(contexts, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            context = entry.get("context")
            return context if isinstance(context, dict) else {}
    return None


def _checked(namespace: str) -> str:
    if not namespace or len(namespace) > 63 or not all(s in "abcdefghijklmnopqrstuvwxyz0123456789-" for s in namespace):
        raise BadInputError(
            f'--namespace "{namespace}" is not allowed: must be lower case letters, digits and "-" (such as "team-a")'
        )
    return namespace
