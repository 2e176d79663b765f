"""The sections of the configuration file. Frozen after validation; snake_case here is camelCase in the file.

A field's description is the text of the reference table, of `turnstile config defaults` and of the JSON schema, so it
is written for the person who sets it.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import AliasGenerator, BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from config import names
from config.api.identifiers import WorkerName
from config.types import syntax
from config.types.choices import (
    RUN_ON_HUB,
    DispatcherMode,
    GatePolicyName,
    GatesUnsupported,
    GiveUpStateName,
    Integration,
    OwnerlessWorkloads,
    PodForecastMode,
)
from config.types.field_types import (
    REFUSED,
    AbsolutePath,
    GoDuration,
    Number,
    OneOf,
    ProxyUrl,
    Switch,
    Text,
    WholeNumber,
)
from config.types.mappings import Labels, ResourcePrices

SECTION_CONFIG: Final = ConfigDict(
    frozen=True,
    extra="forbid",
    alias_generator=AliasGenerator(serialization_alias=to_camel),
    use_attribute_docstrings=True,
)

_SECOND: Final = timedelta(seconds=1)
_ON: Final = Switch()

DnsLabel = Annotated[
    str, Text('a DNS-1123 label: lower case letters, digits and "-" (for example "worker-1")', syntax.DNS_LABEL, 63)
]
_SUBDOMAIN: Final = Text(
    'a DNS-1123 name: lower case letters, digits, "-" and "." (for example "worker-1")', syntax.DNS_SUBDOMAIN
)
DnsSubdomain = Annotated[str, _SUBDOMAIN]
SecretKey = Annotated[
    str, Text('a key of a Secret: letters, digits, "-", "_" and "." (for example "kubeconfig")', syntax.CONFIG_KEY)
]
_KUEUE_VERSION: Final = Text(
    'a version of Kueue (for example "v0.19.1", or "v0.19" for any patch)', r"v?0\.[0-9]{1,2}(\.[0-9]{1,3})?"
)
ContextName = Annotated[str, Text("the name of a context in the kubeconfig", r"[^\x00-\x1f\x7f]+")]
Origin = Annotated[
    str,
    Text('a label value of 1 to 63 characters (for example "hub-eu")', r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", 63),
]
ControllerName = Annotated[
    str, Text(f"{names.CONTROLLER_NAME} or {names.MULTIKUEUE_NAME}", f"{names.CONTROLLER_NAME}|{names.MULTIKUEUE_NAME}")
]
ObjectKind = Annotated[str, Text('a kind in capitals (for example "RenderJob")', r"[A-Z][A-Za-z0-9]*", 63)]
FieldPath = Annotated[
    str, Text('the path of a field (for example "spec.managedBy")', r"[a-zA-Z][a-zA-Z0-9]*(\.[a-zA-Z][a-zA-Z0-9]*)*")
]
FilePath = Annotated[Path, AbsolutePath()]
Rate = Annotated[int, WholeNumber(1, 100_000)]


class Section(BaseModel):
    """What all sections have in common."""

    model_config = SECTION_CONFIG


class HubSection(Section):
    """The cluster where jobs are queued and Turnstile's decisions are written."""

    kubeconfig: FilePath | None = None
    """The kubeconfig of the hub. Without it the service account of the pod is used."""
    context: ContextName | None = None
    """The context in that kubeconfig. Without it the kubeconfig's current-context is used."""
    namespace: DnsLabel = "turnstile-system"
    """The namespace of Turnstile on the hub: the workers' kubeconfig Secrets and the Lease are there."""
    controller_name: ControllerName = names.CONTROLLER_NAME
    """Turnstile handles the AdmissionChecks with this controllerName. Kueue's own name is for hubs whose Kueue runs
    with the feature gate MultiKueue off."""
    origin: Origin | None = None
    """Marks the objects of this hub on the workers, so it must be unique among hubs that share a worker. Without it,
    it is derived from the UID of the hub's namespace kube-system."""

    @model_validator(mode="after")
    def _context_needs_a_kubeconfig(self) -> Self:
        if self.context is not None and self.kubeconfig is None:
            raise refused_at("context", self.context, "only together with kubeconfig, which is where contexts are")
        return self


class SecretReference(Section):
    """A Secret in the namespace `hub.namespace`."""

    name: DnsSubdomain
    """The name of the Secret."""
    key: SecretKey = names.KUBECONFIG_KEY
    """The key in the Secret."""


class KubeconfigSource(Section):
    """Where a worker's kubeconfig comes from: exactly one of the two."""

    path: FilePath | None = None
    """A file inside one of `kubeconfigPolicy.allowedDirectories`."""
    secret: SecretReference | None = None
    """A Secret on the hub."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.path is None) == (self.secret is None):
            raise PydanticCustomError(
                REFUSED, "{allowed}", {"allowed": "a mapping with exactly one of path and secret"}
            )
        return self


class WorkerSection(Section):
    """One worker cluster."""

    name: Annotated[WorkerName, _SUBDOMAIN]
    """The worker's name; the same name that MultiKueueConfig objects list."""
    kubeconfig: KubeconfigSource | None = None
    """Without it the MultiKueueCluster of the same name says where the kubeconfig is (needs `discovery.enabled`), and
    this entry only sets the options below."""
    context: ContextName | None = None
    """The context in the kubeconfig. Without it the kubeconfig's current-context is used."""
    qps: Rate = 50
    """Requests per second to this worker, sustained."""
    burst: Rate = 100
    """Requests to this worker that may be sent at once before `qps` holds."""
    gates_unsupported: Annotated[GatesUnsupported, OneOf(GatesUnsupported)] = GatesUnsupported.SEQUENTIAL
    """What to do while this worker's Kueue is not known to honour preemption gates: send no Workload to two such
    workers within `gates.singleClusterPreemptionTimeout` (`sequential`), the same and never nominate one that was found
    not to honour them (`exclude`), or use it as if it did (`allow`)."""
    labels: Annotated[tuple[tuple[str, str], ...], Labels()] = ()
    """Labels of the worker, for the selectors of jobs and of MultiKueueConfigs; they are added to the labels of its
    MultiKueueCluster."""
    weight: Annotated[float, Number(0, 1_000_000)] = 1
    """Among workers that suit a job equally, the one with the higher weight is preferred: by `Incremental` and
    `ForecastFirst`, and by `LeastDisruption` where forecasts cost the same."""
    cost_per_hour: Annotated[tuple[tuple[str, float], ...], ResourcePrices()] = ()
    """What an hour of one core (`cpu`), one GiB (`memory`, `ephemeral-storage`) or one piece of any other resource
    costs there, in any currency. Among workers of the same weight, the one where the job costs less is preferred."""
    kueue_configuration: FilePath | None = None
    """A file with the Configuration of the worker's Kueue, for forecasts. Without it they go by the one that was read
    on the worker if the version of its Kueue is known exactly, and otherwise assume Kueue's defaults."""
    kueue_version: Annotated[str, _KUEUE_VERSION] | None = None
    """The version of the worker's Kueue. Without it the worker tells: by the image of Kueue's Deployment or the labels
    of its chart where they may be read, otherwise by its API, which tells the release and not the patch."""
    pod_forecast: Annotated[bool, _ON] = False
    """Follow the worker's nodes, pods, PodGroups, PodDisruptionBudgets and PriorityClasses too, and forecast which pods
    its kube-scheduler would evict after the quota is there. Requires `forecast.enabled` and
    permission to read these kinds."""
    pod_forecast_mode: Annotated[PodForecastMode, OneOf(PodForecastMode)] = PodForecastMode.AUTO
    """Which rules the pod forecasts follow: those of the worker's Kubernetes version (`auto`), of a release with
    workload-aware preemption (`v1.36`, `v1.37`), or of KEP-5710 as designed (`kep`)."""

    topology: Annotated[bool, _ON] = False
    """Follow the worker's Topologies, Nodes and Pods too, and forecast in which domains Kueue would place the pods of
    Workloads on flavors with a topology; otherwise forecasts for these are `Unsupported`. Requires `forecast.enabled`
    and permission to read these kinds."""

    @model_validator(mode="after")
    def _burst_not_below_qps(self) -> Self:
        if self.burst < self.qps:
            raise refused_at("burst", self.burst, f"at least qps, which is {self.qps}")
        return self


class DiscoverySection(Section):
    """Workers that Kueue's MultiKueueConfig and MultiKueueCluster objects name."""

    enabled: Annotated[bool, _ON] = True
    """Take workers from the hub's MultiKueueCluster objects too. An entry of `workers` with the same name wins."""


class KubeconfigPolicy(Section):
    """What a kubeconfig may contain. https and verified TLS are always required."""

    allowed_directories: tuple[FilePath, ...] = (Path(names.KUBECONFIG_DIRECTORY),)
    """Kubeconfigs given by path, and files that they refer to, must be inside one of these, symbolic links resolved."""
    allow_exec_plugins: Annotated[bool, _ON] = False
    """Allow users of kubeconfigs to be an exec plugin, which runs a command on this machine."""
    allow_file_references: Annotated[bool, _ON] = False
    """Allow kubeconfigs to name tokens, keys and certificates by path instead of holding them."""
    allowed_proxies: tuple[Annotated[str, ProxyUrl()], ...] = ()
    """The values that `proxy-url` may have in a kubeconfig."""


class Gates(Section):
    """When preemption gates open."""

    single_cluster_preemption_timeout: Annotated[timedelta, GoDuration(_SECOND, "5m")] = timedelta(minutes=5)
    """How long one worker may preempt for a workload before the next worker may. At least the longest termination grace
    period of a victim plus the time to schedule after it."""
    policy: Annotated[GatePolicyName, OneOf(GatePolicyName)] = GatePolicyName.FIRST_COME_FIRST_SERVED
    """Which gate opens next: that of the worker that asked first (`FirstComeFirstServed`); after `gracePeriod` that of
    the worker whose forecast costs least (`LeastDisruption`); or that of the first, but only after `gracePeriod`, in
    which another worker may admit without preempting (`PreferNoPreemption`)."""
    grace_period: Annotated[timedelta, GoDuration(_SECOND, "10s")] = timedelta(seconds=10)
    """How long `LeastDisruption` and `PreferNoPreemption` wait after the first worker asked; not longer than
    `singleClusterPreemptionTimeout`. They do not wait for workers that the forecast rules out."""
    skip_futile: Annotated[bool, _ON] = False
    """Pass over a worker, for one timeout, whose forecast says that preempting there would not help."""
    non_preempting_grace: Annotated[timedelta, GoDuration(_SECOND, "10s", zero_means="none")] = timedelta(0)
    """How long the first gate for a workload stays closed after the first worker asked, in case another worker has room
    without preempting."""
    hold_while_quota_reserved: Annotated[bool, _ON] = True
    """Open no further gate while a worker has reserved quota and waits for its own admission checks."""
    gate_single_target: Annotated[bool, _ON] = True
    """Also gate replicas of workloads that have only one eligible worker."""

    @model_validator(mode="after")
    def _grace_within_the_timeout(self) -> Self:
        was_set = "grace_period" in self.model_fields_set
        if was_set and self.grace_period > self.single_cluster_preemption_timeout:
            raise refused_at("grace_period", self.grace_period, "not longer than singleClusterPreemptionTimeout")
        return self


class DispatcherSection(Section):
    """Which workers get a replica of a workload."""

    mode: Annotated[DispatcherMode, OneOf(DispatcherMode)] = DispatcherMode.ALL_AT_ONCE
    """All connected workers (`AllAtOnce`), some more each round (`Incremental`), those that another controller writes
    to the Workload's nominatedClusterNames (`External`), or first one worker where the workload is forecast to fit
    without preemption (`ForecastFirst`)."""
    step_size: Annotated[int, WholeNumber(1, 1000)] = 3
    """How many workers a round adds (`Incremental`)."""
    round_timeout: Annotated[timedelta, GoDuration(_SECOND, "5m")] = timedelta(minutes=5)
    """How long a round lasts (`Incremental`)."""
    forecast_round_timeout: Annotated[timedelta, GoDuration(_SECOND, "30s")] = timedelta(seconds=30)
    """How long one worker is tried alone before all others are nominated too (`ForecastFirst`)."""

    give_up_after: Annotated[timedelta, GoDuration(_SECOND, "2h", zero_means="never")] = timedelta(0)
    """How long a workload may wait for a worker while it holds the hub's quota; then its admission check gets
    `giveUpState`, with what each worker would do as the reason. Not while a worker has quota for it or a window is
    open. The annotation `multikueue-turnstile.dev/give-up-after` of a job wins."""
    give_up_state: Annotated[GiveUpStateName, OneOf(GiveUpStateName)] = GiveUpStateName.RETRY
    """What a workload gets that no worker admitted in time: the hub takes its quota back and queues it again after a
    minute (`Retry`), or deactivates it (`Rejected`)."""


class ForecastSection(Section):
    """Predicts what each worker would do with a workload, and checks afterwards whether that was right."""

    enabled: Annotated[bool, _ON] = True
    """Follow the queues, flavors and workloads of every worker, and forecast from them. A worker on
    which one of these kinds cannot be read has no forecasts; nothing else is affected."""
    minimum_hit_rate: Annotated[int, WholeNumber(0, 100)] = 80
    """The percentage of a worker's last forecasts that must have been exact; below it policies and dispatch do not use
    its forecasts. Forecasts that later changes made obsolete, or that ran out of time, are not counted."""
    hit_rate_window: Annotated[int, WholeNumber(1, 1000)] = 20
    """How many of a worker's last forecasts are counted; nothing is concluded from fewer than five, or from fewer than
    this if it is less."""


class CustomKind(Section):
    """A kind of job that Turnstile does not ship."""

    group: DnsSubdomain
    """The API group."""
    version: DnsLabel
    """The version in that group."""
    kind: ObjectKind
    """The kind."""
    plural: DnsLabel
    """The kind's name in URLs."""
    managed_by: FieldPath = "spec.managedBy"
    """The field in which a job names its manager; it is removed from the copy, so that the worker's controller runs
    it."""
    copy_status: Annotated[bool, _ON] = True
    """Copy the status of the worker's job to the hub's."""


class JobsSection(Section):
    """Which workloads are handled."""

    integrations: tuple[Annotated[Integration, OneOf(Integration)], ...] = tuple(
        kind for kind in Integration if kind not in RUN_ON_HUB
    )
    """The kinds of jobs that are handled. Those made of plain pods (pod, statefulset,
    leaderworkerset.x-k8s.io/leaderworkerset) are for hubs whose Kueue keeps their pods from starting there."""
    custom_kinds: tuple[CustomKind, ...] = ()
    """Further kinds of jobs."""

    ownerless_workloads: Annotated[OwnerlessWorkloads, OneOf(OwnerlessWorkloads)] = OwnerlessWorkloads.REPLICATE
    """What to do with a Workload that no job owns: replicate it as it is, or reject its admission check as Kueue's own
    controller does."""


def refused_at(field: str, value: object, allowed: str) -> PydanticCustomError:
    """Return the refusal of one field by a rule of its whole section."""
    return PydanticCustomError(REFUSED, "{allowed}", {"allowed": allowed, "at": to_camel(field), "value": value})
