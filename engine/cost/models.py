"""The cost models that ship with Turnstile. A model is a function of the facts; bounds are laid around it by the rules.

A model that cannot interpret what it reads raises `ValueError` with one sentence: the job then keeps its cost.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from config.api.meta import NANOSECONDS, parse_time
from config.names import DOMAIN
from engine.cost.facts import CostFacts

CostModel = Callable[[CostFacts], int]

LAST_CHECKPOINT: Final = f"{DOMAIN}/last-checkpoint"
"""When the job last saved what it had, as an RFC 3339 time."""
PROGRESS: Final = f"{DOMAIN}/progress"
"""Which part of its work the job has done, from 0 to 1."""

_MINUTE_NS: Final = 60 * NANOSECONDS


def reference(facts: CostFacts) -> int:
    """Count the preemptions that the job has suffered: KEP-7990's own example."""
    return facts.preemptions


def checkpoint(facts: CostFacts) -> int:
    """Count the whole minutes of work that a preemption would lose: since the last checkpoint of this run."""
    admitted_ns = facts.workload.admitted_ns
    if admitted_ns is None:
        return 0
    text = facts.annotation(LAST_CHECKPOINT)
    saved_ns = admitted_ns if text is None else max(admitted_ns, _time(text))
    return max(0, facts.now_ns - saved_ns) // _MINUTE_NS


def progress(facts: CostFacts) -> int:
    """Multiply the part of the work that is done by the number of pods that do it."""
    return int(_fraction_done(facts) * facts.workload.pods)


SHIPPED: Final[Mapping[str, CostModel]] = {"reference": reference, "checkpoint": checkpoint, "progress": progress}


def _time(text: str) -> int:
    try:
        return parse_time(text)
    except ValueError as error:
        raise ValueError(f"annotation {LAST_CHECKPOINT}: {error}") from None


def _fraction_done(facts: CostFacts) -> Decimal:
    text = facts.annotation(PROGRESS)
    if text is None:
        completions = facts.job.completions
        return min(Decimal(facts.job.succeeded) / completions, Decimal(1)) if completions else Decimal(0)
    try:
        fraction = Decimal(text)
    except InvalidOperation:
        fraction = Decimal(-1)
    if not (fraction.is_finite() and 0 <= fraction <= 1):
        raise ValueError(f'annotation {PROGRESS}: "{text}" is not allowed: must be a number from 0 to 1')
    return fraction
