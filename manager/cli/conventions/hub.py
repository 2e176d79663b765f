"""Which hub a command reads, and which namespace: chosen from kubeconfigs as kubectl chooses.

Here only the files and the context are chosen, which must be quick; what they grant is loaded by
`workerclient.operator`, late. The kubeconfig belongs to the operator, so it may name commands and files.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from config.reading.files import UnreadableFileError, read_bounded
from config.types.syntax import printable
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.options import HubOptions, NamespaceOption, NamespaceScope
from workerclient.transport.incluster import SERVICE_ACCOUNT, in_cluster_access

if TYPE_CHECKING:
    from config.kubeconfig.access import ClusterAccess

_MAX_SIZE: Final = 1 << 20
_DEFAULT_NAMESPACE: Final = "default"


class Kubeconfig(NamedTuple):
    """The context to use, and the files that describe it together."""

    path: Path
    """The file that holds the context."""
    context: str
    namespace: str
    files: tuple[Path, ...]
    missing: tuple[Path, ...] = ()
    """What $KUBECONFIG names and is not there."""


class NoKubeconfigError(BadInputError):
    """There is no kubeconfig; the message says which paths were tried."""


def find_kubeconfig(options: HubOptions, environment: Mapping[str, str] = os.environ, prefix: str = "--") -> Kubeconfig:
    """Find the context in the files that kubectl would read; of several in $KUBECONFIG, the first that has it.

    `prefix` is how the command's own options begin that choose the file and the context.
    """
    paths = _candidates(options, environment)
    files = tuple(path for path in paths if options.kubeconfig is not None or _is_there(path))
    if not files:
        looked = ", ".join(str(path) for path in paths)
        raise NoKubeconfigError(f"there is no kubeconfig ({looked}); name the hub's with {prefix}kubeconfig")
    documents = [(path, _document(path)) for path in files]
    currents = (str(document.get("current-context") or "") for _, document in documents)
    wanted = options.context or next(filter(None, currents), "")
    if not wanted:
        raise BadInputError(f"{documents[0][0]} has no current-context; name one with {prefix}context")
    for path, document in documents:
        if (context := _context(document, wanted)) is not None:
            namespace = str(context.get("namespace") or _DEFAULT_NAMESPACE)
            missing = tuple(each for each in paths if each not in files)
            return Kubeconfig(path, wanted, namespace, files, missing)
    raise BadInputError(f'there is no context "{wanted}" in {", ".join(str(path) for path in files)}')


def contexts_of(options: HubOptions, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the names of the contexts in the files that kubectl would read; raises `BadInputError`."""
    documents = (_document(path) for path in _candidates(options, environment) if _is_there(path))
    listed = (document.get("contexts") for document in documents)
    entries = (entry for contexts in listed if isinstance(contexts, list) for entry in contexts)
    return sorted({str(entry["name"]) for entry in entries if isinstance(entry, dict) and entry.get("name")})


def warn_missing(found: Kubeconfig) -> None:
    """Say on standard error which files of $KUBECONFIG are not there; kubectl ignores them as well."""
    if found.missing:
        listed = ", ".join(str(path) for path in found.missing)
        remedy = "create them, or remove them from the variable"
        warning = f"warning: $KUBECONFIG lists files that do not exist and are ignored: {listed}; {remedy}"
        typer.echo(printable(warning), err=True)


def namespace_of(
    chosen: NamespaceOption, options: HubOptions, environment: Mapping[str, str] = os.environ
) -> str | None:
    """Return the namespace to show; None for all: where that is asked for, and where no kubeconfig names one."""
    if isinstance(chosen, NamespaceScope) and chosen.all_namespaces:
        if chosen.namespace is not None:
            raise BadInputError("--namespace and --all-namespaces exclude each other; give only one")
        return None
    if chosen.namespace is not None:
        return _checked(chosen.namespace)
    try:
        return find_kubeconfig(options, environment).namespace
    except NoKubeconfigError:
        if options.kubeconfig is not None or options.context is not None:
            raise
        return None


def hub_access(
    options: HubOptions, environment: Mapping[str, str] = os.environ, service_account: Path = SERVICE_ACCOUNT
) -> "ClusterAccess":
    """Return the access to the hub that the options lead to, in a pod without a kubeconfig its service account's.

    Raises `BadInputError`. An exec plugin that the context names is run.
    """
    try:
        found = find_kubeconfig(options, environment)
    except NoKubeconfigError:
        if not is_in_pod(options, environment):
            raise
        try:
            return in_cluster_access(environment, service_account)
        except ValueError as error:
            raise BadInputError(f"there is no kubeconfig, and {error}; name the hub's with --kubeconfig") from None
    return access_of(found, environment)


def is_in_pod(options: HubOptions, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether the hub is the cluster of the pod that this runs in, as far as nothing else is said."""
    chosen = (options.kubeconfig, options.context, environment.get("KUBECONFIG"))
    return not any(chosen) and bool(environment.get("KUBERNETES_SERVICE_HOST"))


def access_of(found: Kubeconfig, environment: Mapping[str, str] = os.environ) -> "ClusterAccess":
    """Return what a context grants; an exec plugin that it names is run. Raises `BadInputError`."""
    import asyncio

    from manager.base.clock import SystemClock
    from workerclient.operator.errors import OperatorKubeconfigError
    from workerclient.operator.kubeconfig import load_operator_access

    try:
        return asyncio.run(load_operator_access(found.files, found.context, SystemClock(), environment))
    except OperatorKubeconfigError as error:
        raise BadInputError(str(error)) from None


def _candidates(options: HubOptions, environment: Mapping[str, str]) -> list[Path]:
    if options.kubeconfig is not None:
        return [options.kubeconfig]
    listed = [Path(each) for each in environment.get("KUBECONFIG", "").split(os.pathsep) if each]
    return listed or [Path(environment.get("HOME") or "/") / ".kube" / "config"]


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # reading it says what is wrong
    return True


def _document(path: Path) -> dict[str, Any]:
    import yaml

    from manager.cli.reading.bounds import check_yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        content = read_bounded(path, _MAX_SIZE)
        check_yaml(content, loader)
        document = yaml.load(content, Loader=loader)  # noqa: S506 - both are safe loaders
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
