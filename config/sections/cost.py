"""The section of the cost controller (KEP-7990)."""

from datetime import timedelta
from typing import Annotated, Final, Self

from pydantic import model_validator

from config.sections.sections import DnsSubdomain, Section, refused_at
from config.types.choices import CostPlace
from config.types.field_types import GoDuration, OneOf, Switch, Text, WholeNumber

_ON: Final = Switch()
_MOST: Final = 2**31 - 1
ModelName = Annotated[str, Text('the name of an installed cost model (for example "reference")', r"[A-Za-z0-9._-]+")]


class PriorityBoost(Section):
    """Where costs count as Kueue's priority boost."""

    hub: Annotated[bool, _ON] = False
    """Write the cost also as the annotation kueue.x-k8s.io/priority-boost of the hub's Workloads. Only for a hub whose
    Kueue has the feature gate PriorityBoost on. It then also changes who may preempt whom, and the order in the
    queues."""
    workers: tuple[DnsSubdomain, ...] = ()
    """The same on these workers."""

    @property
    def is_on(self) -> bool:
        """Return whether any boost is written."""
        return self.hub or bool(self.workers)


class CostControllerSection(Section):
    """What preempting each job would cost."""

    enabled: Annotated[bool, _ON] = False
    """Run the cost controller as a part of the daemon. The command `turnstile cost-controller` runs it alone,
    regardless of this setting."""
    clusters: tuple[Annotated[CostPlace, OneOf(CostPlace)], ...] = tuple(CostPlace)
    """Whose Jobs get a cost."""
    model: ModelName = "reference"
    """How the cost is computed: `reference` counts preemptions, `checkpoint` the minutes of work that would be lost,
    `progress` multiplies the part that is done by the pods; others come with installed packages."""
    max_cost: Annotated[int, WholeNumber(1, _MOST)] = 1000
    """No cost is higher than this; none is lower than 0."""
    running_increment: Annotated[int, WholeNumber(0, _MOST)] = 0
    """Added to the cost while all pods of the job are ready. Not more than `maxCost`."""
    refresh_interval: Annotated[timedelta, GoDuration(timedelta(seconds=1), "5m", "off")] = timedelta(minutes=5)
    """How often a cost is recomputed when only time has passed."""
    copy_to_workloads: Annotated[bool, _ON] = False
    """Copy the annotation from Jobs to their Workloads where Kueue does not do that."""
    priority_boost: PriorityBoost = PriorityBoost()
    """Where costs count as Kueue's priority boost."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not self.clusters:
            raise refused_at("clusters", [], f"at least one of {', '.join(CostPlace)}")
        if self.running_increment > self.max_cost:
            raise refused_at("running_increment", self.running_increment, f"at most maxCost, which is {self.max_cost}")
        if self.priority_boost.hub and CostPlace.HUB not in self.clusters:
            raise refused_at("priority_boost", {"hub": True}, "without hub, because clusters does not list Hub")
        if self.priority_boost.workers and CostPlace.WORKERS not in self.clusters:
            workers = {"workers": list(self.priority_boost.workers)}
            raise refused_at("priority_boost", workers, "without workers, because clusters does not list Workers")
        return self
