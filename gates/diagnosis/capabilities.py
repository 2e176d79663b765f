"""Findings about what a cluster serves and allows, and whether its Kueue honours gates."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from config.names import KUEUE_API_VERSION, KUEUE_GROUP
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import judge_replica
from gates.decision.gate_evidence import expected_support
from gates.detection.detected import DetectedKueue
from gates.detection.gate_switch import FEATURE_GATE
from gates.diagnosis.finding import Finding, Severity, Topic, error, warning
from gates.model.settings import UngatedPolicy
from gates.model.texts import GATES_NOT_KNOWN_YET
from gates.model.view import GateSupport
from gates.wire.records import ReplicaRecord

_KUEUE_ROLE: Final = "deploy/rbac/worker-kueue.yaml"
GATES_UNKNOWN: Final = "its Kueue does not know preemption gates: it preempts as soon as it has a replica"


def permission_findings(
    cluster: str, missing: Sequence[tuple[str, str]], role: str, severity: Severity = Severity.ERROR
) -> Iterator[Finding]:
    """Conclude from verbs that may not be used, each with its resource; `role` is the file that grants them."""
    verbs: dict[str, list[str]] = {}
    for verb, resource in missing:
        verbs.setdefault(resource, []).append(verb)
    for resource, found in verbs.items():
        message = f"it does not allow {', '.join(found)} on {resource}"
        yield Finding(cluster, Topic.PERMISSIONS, severity, message, f"apply {role} there, or grant these verbs")


NOT_SPOKEN: Final = (
    f"it does not serve {KUEUE_API_VERSION}: its Kueue is v0.14 or earlier, which is not supported, or not installed"
)


def version_findings(cluster: str, served: Sequence[str], absent: Iterable[str]) -> Iterator[Finding]:
    """Conclude from the versions of Kueue's group that are served, and from needed kinds that are not."""
    version = KUEUE_API_VERSION.partition("/")[2]
    if not served:
        yield error(
            cluster, Topic.VERSIONS, f"it does not serve {KUEUE_GROUP}: Kueue is not installed", "install Kueue"
        )
        return
    if version not in served:
        message = f"it serves {KUEUE_GROUP} at {', '.join(served)}, not at {version}"
        yield error(cluster, Topic.VERSIONS, message, "upgrade Kueue to a version that serves it")
        return
    for kind in absent:
        yield error(
            cluster,
            Topic.VERSIONS,
            f"it does not serve {kind}",
            "reinstall the CustomResourceDefinitions of this Kueue",
        )


def detection_findings(cluster: str, found: DetectedKueue) -> Iterator[Finding]:
    """Conclude from contradictions about which Kueue a cluster runs."""
    for problem in found.problems:
        remedy = "install the CustomResourceDefinitions of the Kueue that runs there, or correct what names its version"
        yield warning(cluster, Topic.VERSIONS, problem, remedy)


def unserved_jobs(cluster: str, kinds: Iterable[str]) -> Iterator[Finding]:
    """Conclude from kinds of jobs that the hub serves and a worker does not."""
    for kind in kinds:
        message = f"it does not serve {kind}, which the hub does: such jobs never go there"
        yield warning(cluster, Topic.VERSIONS, message, "install that kind there, or remove it from jobs.integrations")


def gates_ignored(replicas: int) -> str:
    """Say that a worker's Kueue knows gates and has them switched off."""
    return f"its Kueue ignores preemption gates, as {replicas} of our replicas there show"


def gate_findings(
    cluster: str,
    *,
    knows_gates: bool,
    replicas: Iterable[tuple[ReplicaRecord, int]],
    dialect: GateDialect | None,
    policy: UngatedPolicy,
    configured: bool | None = None,
    default_on: bool = False,
) -> Iterator[Finding]:
    """Conclude from schema, Configuration, version, and our replicas with their ages whether gates stop preemption."""
    severity = Severity.ERROR if policy is UngatedPolicy.ALLOW else Severity.WARNING
    handled = f" (workers[].gatesUnsupported is {policy})"
    if not knows_gates:
        message = f"{GATES_UNKNOWN}{handled}"
        yield Finding(
            cluster,
            Topic.GATES,
            severity,
            message,
            f"upgrade Kueue to v0.20 or later, or to v0.17 or later with its feature gate {FEATURE_GATE}",
        )
        return
    if dialect is None:
        message = "its schema does not show how its Kueue names preemption gates; Kueue v0.19 is assumed"
        yield warning(cluster, Topic.GATES, message, "make sure that its API server publishes the schema of Workloads")
    verdicts = [judge_replica(replica, dialect or GateDialect.KUEUE, age_ns) for replica, age_ns in replicas]
    if GateSupport.HONOURED in verdicts:
        return
    switch = f"switch on the feature gate {FEATURE_GATE} of its Kueue (docs/install.md, step 1)"
    expected = expected_support(configured, default_on=default_on)
    if GateSupport.MISSING in verdicts:
        shown = verdicts.count(GateSupport.MISSING)
        message = f"{gates_ignored(shown)}{handled}"
        yield Finding(cluster, Topic.GATES, severity, message, switch)
    elif expected is GateSupport.MISSING:
        message = f"the Configuration of its Kueue switches preemption gates off{handled}"
        yield Finding(cluster, Topic.GATES, severity, message, switch)
    elif expected is GateSupport.UNKNOWN:
        message = f"{GATES_NOT_KNOWN_YET}{handled}"
        remedy = f"{switch} if it is off; with {_KUEUE_ROLE} that is known beforehand"
        yield warning(cluster, Topic.GATES, message, remedy)
