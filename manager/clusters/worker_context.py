"""What the connection to a worker is made with: what all of them have in common, and the models of this one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from config.api.identifiers import WorkerName
from config.api.meta import ObjectKey
from gates.detection.detected import DetectedKueue
from gates.jobs.kinds import JobKind
from gates.model.settings import DEFAULT_UNGATED, UngatedPolicy
from manager.clusters.cluster_identity import ClusterIdentities
from manager.clusters.worker_jobs import OnJob
from manager.models.observation import Observation
from manager.models.pod_forecasts import PodForecasts
from workerclient.cluster import ClientContext


@dataclass(frozen=True, slots=True)
class Notices:
    """Whom a worker tells about changes; the callbacks return at once."""

    on_workload: Callable[[WorkerName, ObjectKey], None]
    on_job: OnJob
    on_connection: Callable[[WorkerName], None]
    on_remark: Callable[[WorkerName], None] = lambda _: None
    """What is worth knowing about a worker changed, and nothing that concerns its Workloads."""


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What the connections to all workers have in common."""

    client: ClientContext
    origin: str
    """Whose replicas and jobs are followed."""
    kinds: Sequence[JobKind]
    notices: Notices
    identities: ClusterIdentities | None = None
    asks_permissions: bool = True
    ungated_policy: Callable[[], UngatedPolicy] = lambda: DEFAULT_UNGATED
    """What is done with the worker while it is not known to honour gates."""
    on_kueue: Callable[[DetectedKueue], None] = lambda _: None
    """Told which Kueue the worker runs."""
    kueue_version: str = ""
    """The version of its Kueue, where the configuration names it."""


@dataclass(frozen=True, slots=True)
class WorkerModels:
    """What forecasts about one worker are made from."""

    observation: Observation | None = None
    """None when forecasts are switched off."""
    pods: PodForecasts | None = None
    """None unless the worker's entry asks for forecasts of pods."""
