"""Whether the pods of a group agree with it: kube-scheduler refuses a group whose members do not."""

from collections.abc import Iterable, Sequence
from itertools import chain

from engine.pods.values.answer import Reason, ReasonCode
from engine.pods.values.values import BoundPod, PendingPod, PodGroup, SchedulerMode


def mismatch(
    group: PodGroup, members: Sequence[PendingPod], bound: Iterable[BoundPod], mode: SchedulerMode
) -> Reason | None:
    """Return how members disagree: 1.37 looks at all of them, 1.36 only at the scheduler of those that wait."""
    if mode is SchedulerMode.KEP:
        return None
    everybody: Iterable[PendingPod | BoundPod] = members if mode is SchedulerMode.V1_36 else chain(members, bound)
    scheduler, policy = members[0].scheduler, members[0].never_preempts
    for pod in everybody:
        text = _disagreement(group, pod, scheduler, policy, mode)
        if text is not None:
            return Reason(ReasonCode.MEMBER_MISMATCH, f"all pods in a single pod group should have the same {text}")
    return None


def _disagreement(
    group: PodGroup, pod: PendingPod | BoundPod, scheduler: str, never_preempts: bool, mode: SchedulerMode
) -> str | None:
    if pod.scheduler != scheduler:
        return f'.spec.schedulerName set, got: "{pod.scheduler}" and "{scheduler}"'
    if mode is SchedulerMode.V1_36:
        return None
    if pod.priority != group.priority:
        return f"priority as the pod group's priority, got {pod.priority} and {group.priority}"
    if pod.never_preempts != never_preempts:
        return f"preemption policy, got {_policy(pod.never_preempts)} and {_policy(never_preempts)}"
    return None


def _policy(never_preempts: bool) -> str:
    return "Never" if never_preempts else "PreemptLowerPriority"
