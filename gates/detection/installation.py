"""What the objects of Kueue's own installation tell: its Deployment, and the ConfigMap with its Configuration.

Reading them is optional. They come from a cluster that may send anything: what has an odd shape tells nothing.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from config.api.meta import Obj, ObjectKey, parse_time
from gates.detection.claims import VersionClaim, VersionSource

CONFIGURATION_KEY: Final = "controller_manager_config.yaml"
_DEPLOYMENT: Final = "kueue-controller-manager"
_CONFIG_MAP: Final = "kueue-manager-config"
_NAMESPACES: Final = ("kueue-system", "openshift-kueue-operator")
DEPLOYMENTS_OF_KUEUE: Final = tuple(ObjectKey(namespace, _DEPLOYMENT) for namespace in _NAMESPACES)
"""Where an installation by manifests or Helm, and Red Hat's operator, put it."""
CONFIG_MAPS_OF_KUEUE: Final = tuple(ObjectKey(namespace, _CONFIG_MAP) for namespace in _NAMESPACES)
_CONTAINER: Final = "manager"
_LIKE_A_VERSION: Final = re.compile(r"v?[0-9]+\.[0-9]")
_VERSION_LABEL: Final = "app.kubernetes.io/version"
_CHART_LABEL: Final = "helm.sh/chart"
_CHART: Final = "kueue-"
_FEATURE_GATES: Final = "--feature-gates"
_MAX_ARGUMENT: Final = 16 << 10
_BOOLEANS: Final = {
    **dict.fromkeys(("true", "True", "TRUE", "t", "T", "1"), True),
    **dict.fromkeys(("false", "False", "FALSE", "f", "F", "0"), False),
}


@dataclass(frozen=True, slots=True)
class KueueDeployment:
    """What Kueue's Deployment tells."""

    claims: tuple[VersionClaim, ...] = ()
    gates: Mapping[str, object] = field(default_factory=dict)
    """The feature gates of its arguments; a value that is not a boolean stays a text."""
    rolled_out_ns: int | None = None
    """When all its pods ran what it says now; None while they do not, or where it does not tell."""


@dataclass(frozen=True, slots=True)
class KueueConfigMap:
    """The ConfigMap with Kueue's Configuration."""

    text: str | None = None
    """The Configuration; None where it is not where it should be."""
    changed_ns: int | None = None
    claims: tuple[VersionClaim, ...] = ()


def read_deployment(raw: Obj) -> KueueDeployment:
    """Read Kueue's Deployment."""
    container = _manager(raw)
    image = _tag(container.get("image"))
    claims = [VersionClaim(VersionSource.IMAGE, image)] if image else []
    arguments = [each for part in ("command", "args") for each in _list(container.get(part)) if isinstance(each, str)]
    return KueueDeployment((*claims, *_label_claims(raw)), _gates(arguments), _rolled_out_ns(raw))


def read_config_map(raw: Obj) -> KueueConfigMap:
    """Read the ConfigMap with Kueue's Configuration."""
    text = _mapping(raw.get("data")).get(CONFIGURATION_KEY)
    return KueueConfigMap(text if isinstance(text, str) else None, _changed_ns(raw), tuple(_label_claims(raw)))


def _manager(raw: Obj) -> Mapping[str, Any]:
    spec = _mapping(_mapping(_mapping(raw.get("spec")).get("template")).get("spec"))
    containers = [each for each in _list(spec.get("containers")) if isinstance(each, dict)]
    named = (each for each in containers if each.get("name") == _CONTAINER)
    return next(named, containers[0] if len(containers) == 1 else {})


def _tag(image: object) -> str:
    """Return the version that an image's tag names; none where it is a digest, or has a name such as `main`."""
    if not isinstance(image, str):
        return ""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return tag if _LIKE_A_VERSION.match(tag) else ""


def _label_claims(raw: Obj) -> Iterator[VersionClaim]:
    labels = _mapping(_mapping(raw.get("metadata")).get("labels"))
    version, chart = labels.get(_VERSION_LABEL), labels.get(_CHART_LABEL)
    if isinstance(version, str) and _LIKE_A_VERSION.match(version):
        yield VersionClaim(VersionSource.LABELS, version)
    elif isinstance(chart, str) and chart.startswith(_CHART) and _LIKE_A_VERSION.match(chart.removeprefix(_CHART)):
        yield VersionClaim(VersionSource.LABELS, chart.removeprefix(_CHART))


def _gates(arguments: Sequence[str]) -> Mapping[str, object]:
    """Return the gates that arguments name, in both forms: `--feature-gates=A=true` and `--feature-gates A=true`."""
    found: dict[str, object] = {}
    for position, argument in enumerate(arguments):
        option, equals, value = argument[:_MAX_ARGUMENT].partition("=")
        if option != _FEATURE_GATES:
            continue
        text = value if equals else (arguments[position + 1 : position + 2] or [""])[0][:_MAX_ARGUMENT]
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, switch = (piece.strip() for piece in part.partition("="))
            found[name] = _BOOLEANS.get(switch, switch)
    return found


def _rolled_out_ns(raw: Obj) -> int | None:
    """Return when the last rollout was complete. A restart of a pod by itself does not show."""
    status, spec = _mapping(raw.get("status")), _mapping(raw.get("spec"))
    wanted = spec.get("replicas", 1)
    counts = [status.get(name) for name in ("replicas", "updatedReplicas", "availableReplicas")]
    is_current = status.get("observedGeneration") == _mapping(raw.get("metadata")).get("generation")
    if not isinstance(wanted, int) or wanted < 1 or any(count != wanted for count in counts) or not is_current:
        return None
    progressing = (each for each in _list(status.get("conditions")) if _mapping(each).get("type") == "Progressing")
    condition = _mapping(next(progressing, None))
    if condition.get("status") != "True" or condition.get("reason") != "NewReplicaSetAvailable":
        return None
    return _time_ns(condition.get("lastUpdateTime"))


def _changed_ns(raw: Obj) -> int | None:
    metadata = _mapping(raw.get("metadata"))
    writes = [_mapping(each).get("time") for each in _list(metadata.get("managedFields"))]
    times = [_time_ns(each) for each in (metadata.get("creationTimestamp"), *writes)]
    return max((each for each in times if each is not None), default=None)


def _time_ns(text: object) -> int | None:
    if not isinstance(text, str):
        return None
    try:
        return parse_time(text)
    except ValueError:
        return None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
