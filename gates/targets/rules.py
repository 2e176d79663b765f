"""What a Workload's annotations, and its job's, say about the workers that it may go to.

An annotation that cannot be read is never ignored: the Workload waits, and is told what is wrong.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS
from config.api.selector_text import parse_selector
from config.api.selectors import SelectorError, check_label_value
from config.names import DOMAIN, KUEUE_GROUP
from config.types.duration import DurationError, parse_nanoseconds

CLUSTER_NAMES: Final = f"{KUEUE_GROUP}/multikueue-cluster-names"
"""On a Workload or its job: the MultiKueueClusters that it may go to, separated by commas."""
CLUSTER_SELECTOR: Final = f"{DOMAIN}/cluster-selector"
"""On a Workload or its job: which workers it may go to, by their labels. On a MultiKueueConfig: which it lists."""
AFFINITY_GROUP: Final = f"{DOMAIN}/affinity-group"
"""On a Workload or its job: it goes where others of this group in its namespace are."""
AFFINITY: Final = f"{DOMAIN}/affinity"
"""Beside it: whether that is `Preferred` or `Required`."""
ANTI_AFFINITY_GROUP: Final = f"{DOMAIN}/anti-affinity-group"
"""On a Workload or its job: it goes where none of this group in its namespace is."""
ANTI_AFFINITY: Final = f"{DOMAIN}/anti-affinity"
"""Beside it: whether that is `Preferred` or `Required`."""
GIVE_UP_AFTER: Final = f"{DOMAIN}/give-up-after"
"""On a Workload or its job: how long it may wait for a worker, or `never`."""
PREEMPTION_DELAY: Final = f"{DOMAIN}/preemption-delay"
"""On a Workload or its job: how long its first gate stays closed after the first worker asked."""
UNSCHEDULABLE: Final = f"{DOMAIN}/unschedulable"
"""On a MultiKueueCluster: what `spec.unschedulable` means, for a hub whose Kueue does not serve that field."""
TARGET_ANNOTATIONS: Final = frozenset(
    {
        CLUSTER_NAMES,
        CLUSTER_SELECTOR,
        AFFINITY_GROUP,
        AFFINITY,
        ANTI_AFFINITY_GROUP,
        ANTI_AFFINITY,
        GIVE_UP_AFTER,
        PREEMPTION_DELAY,
    }
)

_SHOWN: Final = 64
"""How much of an annotation is shown."""
_MOST_NAMES: Final = 256
_LONGEST_NS: Final = 8760 * 3600 * NANOSECONDS
Read = TypeVar("Read")


class ExclusionRule(StrEnum):
    """What keeps a Workload from a worker."""

    CLUSTER_NAMES = "ClusterNames"
    CLUSTER_SELECTOR = "ClusterSelector"
    AFFINITY = "Affinity"
    ANTI_AFFINITY = "AntiAffinity"
    API_LIMIT = "ApiLimit"
    """Its API would refuse the replica."""
    CORDONED = "Cordoned"
    """What runs there, or may preempt there already, stays."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The rule that keeps a Workload from one worker, in words."""

    rule: ExclusionRule
    text: str


class Insistence(StrEnum):
    """How much a group matters."""

    PREFERRED = "Preferred"
    REQUIRED = "Required"


@dataclass(frozen=True, slots=True)
class GroupRule:
    """A group that a Workload belongs to, and whether that only sets an order or rules workers out."""

    group: str
    insistence: Insistence = Insistence.PREFERRED

    @property
    def is_required(self) -> bool:
        """Return whether it rules workers out."""
        return self.insistence is Insistence.REQUIRED


@dataclass(frozen=True, slots=True)
class TargetRules:
    """The rules of one Workload."""

    cluster_names: tuple[WorkerName, ...] | None = None
    """None where every listed worker may be used."""
    selector: str = ""
    """Empty where labels do not matter."""
    affinity: GroupRule | None = None
    anti_affinity: GroupRule | None = None
    give_up_after_ns: int | None = None
    """How long it may wait for a worker, 0 for as long as it takes; None where the configuration says it."""
    preemption_delay_ns: int | None = None
    """How long its first gate stays closed after the first worker asked; None where the configuration says it."""
    problem: str = ""
    """What is wrong with the annotations; while there is anything, nothing is dispatched."""


NO_RULES: Final = TargetRules()


def target_annotations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations that are about workers."""
    return {name: value for name, value in annotations.items() if name in TARGET_ANNOTATIONS}


def target_rules(workload: Mapping[str, str], job: Mapping[str, str]) -> TargetRules:
    """Read the rules from the annotations of a Workload and of its job; what both say has to be the same."""
    if not workload and not job:
        return NO_RULES
    problems = [_conflict(name, workload[name], job[name]) for name in sorted(workload.keys() & job.keys())]
    annotations = {**job, **workload}
    names = _read(annotations, CLUSTER_NAMES, _cluster_names, problems)
    selector = _read(annotations, CLUSTER_SELECTOR, _selector, problems)
    together = _group_rule(annotations, AFFINITY_GROUP, AFFINITY, problems)
    apart = _group_rule(annotations, ANTI_AFFINITY_GROUP, ANTI_AFFINITY, problems)
    if together is not None and apart is not None and together.group == apart.group:
        problems.append(f"annotations {AFFINITY_GROUP} and {ANTI_AFFINITY_GROUP} name the same group: must be two")
    patience = _read(annotations, GIVE_UP_AFTER, _patience, problems)
    delay = _read(annotations, PREEMPTION_DELAY, _duration, problems)
    problem = "; ".join(filter(None, problems))
    return TargetRules(names, selector or "", together, apart, patience, delay, problem)


def _group_rule(
    annotations: Mapping[str, str], group_name: str, insistence_name: str, problems: list[str]
) -> GroupRule | None:
    group = _read(annotations, group_name, _group, problems)
    insistence = _read(annotations, insistence_name, _insistence, problems)
    if insistence is not None and group_name not in annotations:
        problems.append(f"annotation {insistence_name} needs {group_name}, which names the group")
    return None if group is None else GroupRule(group, insistence or Insistence.PREFERRED)


def read_selector(text: str) -> tuple[str, str]:
    """Return a selector as it is, and what is wrong with it."""
    try:
        return _selector(text), ""
    except ValueError as error:
        return "", _problem(CLUSTER_SELECTOR, text, error)


def _conflict(name: str, of_workload: str, of_job: str) -> str:
    if of_workload == of_job:
        return ""
    shown = f"{_shown(of_workload)} on the Workload and {_shown(of_job)} on its job"
    return f"annotation {name} is {shown}: must be the same on both, or on one of them alone"


def _read(annotations: Mapping[str, str], name: str, parse: Callable[[str], Read], problems: list[str]) -> Read | None:
    text = annotations.get(name)
    if text is None:
        return None
    try:
        return parse(text)
    except ValueError as error:
        problems.append(_problem(name, text, error))
        return None


def _problem(name: str, text: str, error: ValueError) -> str:
    return f"annotation {name} is {_shown(text)}: {error}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ...")


def _cluster_names(text: str) -> tuple[WorkerName, ...]:
    names = tuple(dict.fromkeys(WorkerName(name.strip()) for name in text.split(",")))
    if not all(names):
        raise ValueError("must be names of MultiKueueClusters, separated by commas")
    if len(names) > _MOST_NAMES:
        raise ValueError(f"it has {len(names)} names: must have at most {_MOST_NAMES}")
    return names


def _selector(text: str) -> str:
    try:
        parse_selector(text)
    except SelectorError as error:
        raise ValueError(f"must be a label selector; {error}") from None
    return text.strip()


def _group(text: str) -> str:
    try:
        check_label_value("the group", text)
    except SelectorError as error:
        raise ValueError(str(error)) from None
    if not text:
        raise ValueError("must be the name of a group")
    return text


def _insistence(text: str) -> Insistence:
    if text not in tuple(Insistence):
        raise ValueError(f"must be one of {', '.join(Insistence)}")
    return Insistence(text)


def _patience(text: str) -> int:
    if text == "never":
        return 0
    nanoseconds = _duration(text)
    if not nanoseconds:
        raise ValueError('must be a duration of more than 0 (for example "2h"), or never')
    return nanoseconds


def _duration(text: str) -> int:
    try:
        nanoseconds = parse_nanoseconds(text)
    except DurationError as error:
        raise ValueError(f'must be a duration (for example "10m"); it {error}') from None
    if not 0 <= nanoseconds <= _LONGEST_NS:
        raise ValueError('must be a duration from 0 to 8760h (for example "10m")')
    return nanoseconds
