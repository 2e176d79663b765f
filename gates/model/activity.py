"""The condition `Active` of AdmissionChecks and MultiKueueClusters, worded as Kueue words it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import Condition, Obj, conditions, parse_time
from config.names import KUEUE_GROUP
from gates.model.texts import MESSAGE_LIMIT, cut
from gates.model.timeouts import NO_TIMEOUT, CheckTimeout, check_timeout
from gates.targets.rules import CLUSTER_SELECTOR, UNSCHEDULABLE, read_selector

ACTIVE: Final = "Active"


@dataclass(frozen=True, slots=True)
class Health:
    """Whether one worker can be used, with the words of its condition."""

    is_active: bool
    reason: str
    message: str
    is_forbidden: bool = False
    """Whether a role is missing."""


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """An AdmissionCheck as the cache keeps it."""

    name: str
    uid: str
    resource_version: str
    generation: int
    controller_name: str
    config: str
    """The MultiKueueConfig that its parameters name; empty if they name none."""
    problem: str
    """What is wrong with its parameters."""
    active: Condition | None
    condition_order: tuple[str, ...] = ()
    has_status: bool = False
    timeout: CheckTimeout = NO_TIMEOUT
    """Its own single-cluster preemption timeout."""


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """A MultiKueueCluster as the cache keeps it."""

    name: WorkerName
    uid: str
    resource_version: str
    generation: int
    location: str = ""
    location_type: str = "Secret"
    profile: str = ""
    active: Condition | None = None
    condition_order: tuple[str, ...] = ()
    has_status: bool = False
    created_ns: int = 0
    labels: tuple[tuple[str, str], ...] = ()
    is_cordoned: bool = False
    """Nothing new goes there."""


@dataclass(frozen=True, slots=True)
class ConfigRecord:
    """A MultiKueueConfig as the cache keeps it; the order of its clusters is the order of preference."""

    name: str
    clusters: tuple[WorkerName, ...] = field(default=())
    selector: str = ""
    """By which labels it lists workers; then its list only says which of them come first."""
    problem: str = ""
    """What is wrong with the selector."""


def check_record(raw: Obj) -> CheckRecord:
    """Read an AdmissionCheck."""
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    parameters = spec.get("parameters")
    problem, config = "", ""
    if not parameters:
        problem = "missing parameters reference"
    elif (parameters.get("apiGroup"), parameters.get("kind")) != (KUEUE_GROUP, "MultiKueueConfig"):
        problem = "bad parameters reference"
    else:
        config = str(parameters.get("name") or "")
        problem = "" if config else "bad parameters reference"
    return CheckRecord(
        metadata["name"],
        metadata["uid"],
        metadata["resourceVersion"],
        metadata.get("generation") or 0,
        str(spec.get("controllerName") or ""),
        config,
        problem,
        conditions(raw.get("status") or {}).get(ACTIVE),
        _order(raw),
        "status" in raw,
        check_timeout(metadata.get("annotations") or {}),
    )


def cluster_record(raw: Obj) -> ClusterRecord:
    """Read a MultiKueueCluster."""
    metadata = raw["metadata"]
    source = (raw.get("spec") or {}).get("clusterSource") or {}
    kubeconfig = source.get("kubeConfig") or {}
    return ClusterRecord(
        metadata["name"],
        metadata["uid"],
        metadata["resourceVersion"],
        metadata.get("generation") or 0,
        str(kubeconfig.get("location") or ""),
        str(kubeconfig.get("locationType") or "Secret"),
        str((source.get("clusterProfileRef") or {}).get("name") or ""),
        conditions(raw.get("status") or {}).get(ACTIVE),
        _order(raw),
        "status" in raw,
        parse_time(created) if (created := metadata.get("creationTimestamp")) else 0,
        tuple(sorted((str(key), str(value)) for key, value in (metadata.get("labels") or {}).items())),
        is_cordoned(raw),
    )


def is_cordoned(raw: Obj) -> bool:
    """Return whether a MultiKueueCluster says that nothing new goes there, in its spec or in our annotation."""
    annotation = (raw["metadata"].get("annotations") or {}).get(UNSCHEDULABLE)
    return (raw.get("spec") or {}).get("unschedulable") is True or annotation == "true"


def config_record(raw: Obj) -> ConfigRecord:
    """Read a MultiKueueConfig."""
    metadata, clusters = raw["metadata"], (raw.get("spec") or {}).get("clusters") or ()
    text = (metadata.get("annotations") or {}).get(CLUSTER_SELECTOR)
    selector, problem = ("", "") if text is None else read_selector(str(text))
    return ConfigRecord(metadata["name"], tuple(WorkerName(str(name)) for name in clusters), selector, problem)


def check_health(check: CheckRecord, config: ConfigRecord | None, clusters: Mapping[WorkerName, Health]) -> Health:
    """Judge a check by the clusters that it leads to."""
    if check.problem:
        return Health(is_active=False, reason="BadConfig", message=_bad_config(check.problem))
    if config is None:
        missing = f'multikueueconfigs.{KUEUE_GROUP} "{check.config}" not found'
        return Health(is_active=False, reason="BadConfig", message=_bad_config(missing))
    if config.problem:
        return Health(is_active=False, reason="BadConfig", message=_bad_config(config.problem))
    if not config.clusters:
        nobody = f"no worker has labels that match annotation {CLUSTER_SELECTOR}"
        return Health(is_active=False, reason="NoUsableClusters", message=_remark(nobody, check))
    missing_clusters = [name for name in config.clusters if name not in clusters]
    inactive = [name for name in config.clusters if name in clusters and not clusters[name].is_active]
    usable = len(config.clusters) - len(missing_clusters) - len(inactive)
    if not missing_clusters and not inactive:
        return Health(is_active=True, reason="Active", message=_remark("The admission check is active", check))
    message = ", ".join(
        f"{what} clusters: [{' '.join(names)}]"
        for what, names in (("Missing", missing_clusters), ("Inactive", inactive))
        if names
    )
    reason = "SomeActiveClusters" if usable else "NoUsableClusters"
    return Health(bool(usable), reason, _remark(message, check))


def _remark(message: str, check: CheckRecord) -> str:
    """Add what is worth knowing about the check's own timeout."""
    return f"{message}; {check.timeout.remark}" if check.timeout.remark else message


def new_condition(present: Condition | None, health: Health, generation: int, now_ns: int) -> Condition | None:
    """Return the condition to write, None if the present one says the same."""
    status, message = ("True" if health.is_active else "False"), cut(health.message, MESSAGE_LIMIT)
    if present is not None and (present.status, present.reason, present.message) == (status, health.reason, message):
        return None
    moved = present is None or present.status != status
    since = now_ns if moved or present is None else present.last_transition_ns
    return Condition(ACTIVE, status, health.reason, message, since, generation)


def _bad_config(problem: str) -> str:
    return f"Cannot load the AdmissionChecks parameters: {problem}"


def _order(raw: Obj) -> tuple[str, ...]:
    entries: Sequence[Obj] = (raw.get("status") or {}).get("conditions") or ()
    return tuple(str(entry["type"]) for entry in entries)
