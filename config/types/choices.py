"""The closed sets among the settings, spelled as in the file."""

from enum import StrEnum


class GatesUnsupported(StrEnum):
    """What to do with a worker whose Kueue does not know preemption gates."""

    ALLOW = "allow"
    EXCLUDE = "exclude"
    SEQUENTIAL = "sequential"


class PodForecastMode(StrEnum):
    """Whose rules of preemption a worker's kube-scheduler follows."""

    AUTO = "auto"
    V1_36 = "v1.36"
    V1_37 = "v1.37"
    KEP = "kep"


class GatePolicyName(StrEnum):
    """Which gate opens next."""

    FIRST_COME_FIRST_SERVED = "FirstComeFirstServed"
    LEAST_DISRUPTION = "LeastDisruption"
    PREFER_NO_PREEMPTION = "PreferNoPreemption"


class DispatcherMode(StrEnum):
    """Who nominates the workers of a workload, and how many at a time."""

    ALL_AT_ONCE = "AllAtOnce"
    INCREMENTAL = "Incremental"
    EXTERNAL = "External"
    FORECAST_FIRST = "ForecastFirst"


class GiveUpStateName(StrEnum):
    """What becomes of a workload that no worker admitted in time."""

    RETRY = "Retry"
    REJECTED = "Rejected"


class OwnerlessWorkloads(StrEnum):
    """What to do with a Workload that no job owns."""

    REPLICATE = "Replicate"
    REJECT = "Reject"


class Integration(StrEnum):
    """Kinds of jobs, by the names that Kueue gives to its integrations."""

    JOB = "batch/job"
    JOB_SET = "jobset.x-k8s.io/jobset"
    TF_JOB = "kubeflow.org/tfjob"
    PY_TORCH_JOB = "kubeflow.org/pytorchjob"
    XG_BOOST_JOB = "kubeflow.org/xgboostjob"
    PADDLE_JOB = "kubeflow.org/paddlejob"
    JAX_JOB = "kubeflow.org/jaxjob"
    MPI_JOB = "kubeflow.org/mpijob"
    TRAIN_JOB = "trainer.kubeflow.org/trainjob"
    RAY_JOB = "ray.io/rayjob"
    RAY_CLUSTER = "ray.io/raycluster"
    RAY_SERVICE = "ray.io/rayservice"
    APP_WRAPPER = "workload.codeflare.dev/appwrapper"
    POD = "pod"
    STATEFUL_SET = "statefulset"
    LEADER_WORKER_SET = "leaderworkerset.x-k8s.io/leaderworkerset"


RUN_ON_HUB = frozenset({Integration.POD, Integration.STATEFUL_SET, Integration.LEADER_WORKER_SET})
"""Made of plain pods, which the hub would start itself unless its Kueue is told not to."""


class CostPlace(StrEnum):
    """Which clusters get preemption costs."""

    HUB = "Hub"
    WORKERS = "Workers"


class ExecApiVersion(StrEnum):
    """The versions of ExecCredential."""

    V1 = "client.authentication.k8s.io/v1"
    V1BETA1 = "client.authentication.k8s.io/v1beta1"


class LogFormat(StrEnum):
    """How a log line is written."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(StrEnum):
    """The least important line that is still written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class HttpAuthorization(StrEnum):
    """Who may read the metrics, and ask what the daemon does, over HTTP."""

    NONE = "None"
    KUBERNETES = "Kubernetes"
    TOKEN_FILE = "TokenFile"  # noqa: S105 - the name of a choice
