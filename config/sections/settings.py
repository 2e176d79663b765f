"""The configuration as a whole: its sections, and the rules that no single section can check.

pydantic-settings lays the sources over each other: environment, then file, then default.
"""

from collections.abc import Callable, Container, Iterator
from datetime import timedelta
from re import escape
from typing import Annotated, Any, Self

from pydantic import ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from config import names
from config.api.identifiers import WorkerName
from config.api.meta import Obj
from config.sections.cluster_profiles import ClusterProfiles
from config.sections.cost import CostControllerSection
from config.sections.http import Http
from config.sections.process import Api, JournalSection, LeaderElection, Logging, Tracing
from config.sections.sections import (
    DiscoverySection,
    DispatcherSection,
    ForecastSection,
    Gates,
    HubSection,
    JobsSection,
    KubeconfigPolicy,
    Section,
    WorkerSection,
)
from config.sections.shadow import Shadow
from config.types.choices import DispatcherMode, GatePolicyName
from config.types.field_types import REFUSED, GoDuration, RefusedError, Switch, Text


class Configuration(Section, BaseSettings):
    """Everything that can be set."""

    model_config = SettingsConfigDict(case_sensitive=True)

    api_version: Annotated[str, Text(names.CONFIG_API_VERSION, escape(names.CONFIG_API_VERSION))]
    """The version of this format."""
    kind: Annotated[str, Text(names.CONFIG_KIND, names.CONFIG_KIND)]
    """The kind of this document."""
    hub: HubSection = HubSection()
    """The cluster where jobs are queued."""
    workers: tuple[WorkerSection, ...] = ()
    """The worker clusters; those that `discovery` finds come on top."""
    discovery: DiscoverySection = DiscoverySection()
    """Workers that Kueue's own objects name."""
    kubeconfig_policy: KubeconfigPolicy = KubeconfigPolicy()
    """What kubeconfigs may contain, those of workers and the hub's. https and verified TLS are always required."""
    cluster_profiles: ClusterProfiles = ClusterProfiles()
    """MultiKueueClusters that name a ClusterProfile instead of a kubeconfig."""
    gates: Gates = Gates()
    """When preemption gates open."""
    dispatcher: DispatcherSection = DispatcherSection()
    """Which workers get a replica of a workload."""
    forecast: ForecastSection = ForecastSection()
    """What each worker would do with a workload, and whether that came true."""
    jobs: JobsSection = JobsSection()
    """Which workloads are taken."""
    worker_lost_timeout: Annotated[timedelta, GoDuration(timedelta(seconds=1), "15m")] = timedelta(minutes=15)
    """How long a worker may be unreachable before the workloads that run there are queued again."""
    gc_interval: Annotated[timedelta, GoDuration(timedelta(seconds=1), "1m", "off")] = timedelta(minutes=1)
    """How often replicas whose hub Workload is gone are searched for and deleted."""
    cost_controller: CostControllerSection = CostControllerSection()
    """What preempting each job would cost."""
    leader_election: LeaderElection = LeaderElection()
    """One instance acts, the others are on standby."""
    shadow: Shadow = Shadow()
    """Observing beside Kueue's own controller."""
    http: Http = Http()
    """Health, readiness and metrics."""
    api: Api = Api()
    """What the daemon answers to commands on its machine."""
    logging: Logging = Logging()
    """What is written to standard error."""
    journal: JournalSection = JournalSection()
    """The record of decisions and of what they were based on."""
    tracing: Tracing = Tracing()
    """One trace for each workload, over hub and workers."""

    def worker(self, name: WorkerName) -> WorkerSection | None:
        """Return what is set for a worker; nothing is for one that only the hub's objects name."""
        return next((worker for worker in self.workers if worker.name == name), None)

    @classmethod
    def layered(cls, *, overrides: Obj, document: Obj) -> Self:
        """Validate the document with the overrides laid over it; a ValidationError holds every mistake."""
        sources = (InitSettingsSource(cls, overrides), InitSettingsSource(cls, document))
        return cls(_build_sources=(sources, {}))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Built in Python, a configuration is what the arguments say, whatever the environment holds."""
        del settings_cls, env_settings, dotenv_settings, file_secret_settings
        return (init_settings,)

    @model_validator(mode="wrap")
    @classmethod
    def _report_across_sections(cls, values: Any, validate: Callable[[Any], Self]) -> Self:
        """Check what no single section can see, and report it beside their mistakes, not after those are fixed."""
        across = list(_mistakes_across_sections(values)) if isinstance(values, dict) else []
        try:
            configuration = validate(values)
        except ValidationError as error:
            raise ValidationError.from_exception_data(cls.__name__, [*map(_again, error.errors()), *across]) from error
        if across:
            raise ValidationError.from_exception_data(cls.__name__, across)
        return configuration


def _mistakes_across_sections(values: Obj) -> Iterator[InitErrorDetails]:
    yield from _needs_forecasts(values)
    workers = values.get("workers", ())
    discovers = not _is_off(_attribute(values.get("discovery"), "enabled"))
    if not discovers and not workers:
        yield _mistake(("workers",), [], "at least one worker, because discovery.enabled is false")
    if not isinstance(workers, list | tuple):
        return
    first_with: dict[str, int] = {}
    for index, worker in enumerate(workers):
        name = _attribute(worker, "name")
        if isinstance(name, str) and first_with.setdefault(name, index) != index:
            at = ("workers", first_with[name], "name")
            yield _mistake(("workers", index, "name"), name, "a name that no other worker has", also_at=at)
        if not discovers and isinstance(worker, dict | WorkerSection) and _attribute(worker, "kubeconfig") is None:
            yield _mistake(("workers", index, "kubeconfig"), None, "a kubeconfig, because discovery.enabled is false")
    if not discovers:
        yield from _boosts_without_worker(values, first_with)


def _boosts_without_worker(values: Obj, known: Container[str]) -> Iterator[InitErrorDetails]:
    boosted = _attribute(_attribute(values.get("cost_controller"), "priority_boost"), "workers")
    for index, name in enumerate(boosted if isinstance(boosted, list | tuple) else ()):
        if isinstance(name, str) and name not in known:
            at = ("cost_controller", "priority_boost", "workers", index)
            yield _mistake(at, name, "the name of one of workers, because discovery.enabled is false")


def _needs_forecasts(values: Obj) -> Iterator[InitErrorDetails]:
    """Yield the settings that do nothing without forecasts."""
    if not _is_off(_attribute(values.get("forecast"), "enabled")):
        return
    policy = _attribute(values.get("gates"), "policy")
    if policy == GatePolicyName.LEAST_DISRUPTION:
        yield _mistake(("gates", "policy"), policy, f"not {policy}, because forecast.enabled is false")
    if _is_on(_attribute(values.get("gates"), "skip_futile")):
        yield _mistake(("gates", "skip_futile"), value=True, allowed="false, because forecast.enabled is false")
    mode = _attribute(values.get("dispatcher"), "mode")
    if mode == DispatcherMode.FORECAST_FIRST:
        yield _mistake(("dispatcher", "mode"), mode, f"not {mode}, because forecast.enabled is false")
    workers = values.get("workers", ())
    for index, worker in enumerate(workers if isinstance(workers, list | tuple) else ()):
        for field in ("pod_forecast", "topology"):
            if _is_on(_attribute(worker, field)):
                allowed = "false, because forecast.enabled is false"
                yield _mistake(("workers", index, field), value=True, allowed=allowed)


def _is_on(value: object) -> bool:
    try:
        return bool(Switch().parse(value))
    except RefusedError:
        return False


def _is_off(value: object) -> bool:
    try:
        return not Switch().parse(value)
    except RefusedError:
        return False  # absent, or a mistake that is reported as such


def _attribute(section: Any, name: str) -> Any:
    return section.get(name) if isinstance(section, dict) else getattr(section, name, None)


def _mistake(
    at: tuple[str | int, ...], value: object, allowed: str, also_at: tuple[str | int, ...] | None = None
) -> InitErrorDetails:
    context = {"allowed": allowed, **({"also_at": also_at} if also_at else {})}
    return InitErrorDetails(type=PydanticCustomError(REFUSED, "{allowed}", context), loc=at, input=value)


def _again(error: Any) -> InitErrorDetails:
    """Return an error that pydantic reported in the form in which it can be raised again."""
    custom = PydanticCustomError(error["type"], "{again}", {"again": error["msg"], **error.get("ctx", {})})
    return InitErrorDetails(type=custom, loc=error["loc"], input=error["input"])
