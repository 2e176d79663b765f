"""The largest size of a job that a worker would still take.

One pod set is varied, the others stay as they are. The search doubles until a size is refused and then halves, so it
asks for few sizes. Invariant: the size that is found is taken, and the next larger one is not. Where a larger size
would jump to another flavor it may be taken again; that is not looked for.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from config.api.meta import Raw
from engine.forecasting.forecast import ForecastVerdict

MAX_SIZE: Final = 1_000_000
"""No larger size is tried; a worker without a limit for what the job asks for is said to take at least so many."""

Search = Generator[int, bool, int]
"""Yields a size, is sent whether it is taken, and returns the largest that is; 0 if none."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The largest sizes that one worker takes; 0 says that not even one pod fits."""

    without_preemption: int
    with_preemption: int


WITHOUT_PREEMPTION: Final = frozenset({ForecastVerdict.FITS})
WITH_PREEMPTION: Final = frozenset({ForecastVerdict.FITS, ForecastVerdict.PREEMPTS})


def find_largest(asked: int) -> Search:
    """Search for the largest size, beginning with the one that is asked for."""
    low, high = 0, max(1, asked)
    while (yield high):
        low = high
        if high == MAX_SIZE:
            return MAX_SIZE
        high = min(2 * high, MAX_SIZE)
    while high - low > 1:
        middle = (low + high) // 2
        if (yield middle):
            low = middle
        else:
            high = middle
    return low


def find_sizes(asked: int) -> Generator[int, ForecastVerdict, Sizes]:
    """Search for both sizes; each size is asked for once, although both searches may want it."""
    known: dict[int, ForecastVerdict] = {}
    found = []
    for taken in (WITHOUT_PREEMPTION, WITH_PREEMPTION):
        search = find_largest(asked)
        wanted = next(search)
        while True:
            if wanted not in known:
                known[wanted] = yield wanted
            try:
                wanted = search.send(known[wanted] in taken)
            except StopIteration as ended:
                found.append(ended.value)
                break
    return Sizes(*found)


def varied_pod_set(raw: Raw, name: str | None = None) -> str:
    """Return the pod set whose size is varied: the named one, else the one with most pods, the first of equals."""
    pod_sets = (raw.get("spec") or {}).get("podSets") or ()
    names = [str(each.get("name", "main")) for each in pod_sets]
    if name is None:
        return max(zip(names, pod_sets, strict=True), key=lambda pair: pair[1].get("count", 1))[0]
    if name not in names:
        raise ValueError(f'there is no pod set "{name}": the job has {", ".join(names)}')
    return name


def size_of(raw: Raw, pod_set: str) -> int:
    """Return how many pods a pod set asks for."""
    found = next(each for each in raw["spec"]["podSets"] if each.get("name", "main") == pod_set)
    return int(found.get("count", 1))


def resized(raw: Raw, pod_set: str, count: int) -> Raw:
    """Return the Workload with another size of one pod set; all or nothing, so that no smaller size is taken for it."""
    changed = []
    for each in raw["spec"]["podSets"]:
        whole = {key: value for key, value in each.items() if key != "minCount"}
        changed.append({**whole, "count": count} if each.get("name", "main") == pod_set else whole)
    return {**raw, "spec": {**raw["spec"], "podSets": changed}}
