"""Detects other controllers that serve the same AdmissionChecks, at startup and while the daemon runs.

At startup: Kueue's own controller, where it is enabled, restores the condition `Active` of a check as soon as another
writer changes it. So the daemon writes its own message there first and watches whether it stays.
Later: a writer that repeatedly overwrites one of our conditions is another controller, and so is Kueue's field manager
on one of our Workloads. Two controllers of one check would undo each other's work, so the daemon ends and says why.
"""

import asyncio
from collections import deque
from typing import Final

from config.api.meta import Condition, ObjectKey
from config.names import MULTIKUEUE_NAME
from gates.model.activity import CheckRecord, ClusterRecord, Health, new_condition
from gates.wire.patches import condition_patch
from gates.wire.records import HubRecord
from manager.base.errors import RivalError
from manager.clusters.hub import HubLink, readable
from manager.logging.logs import get_log
from workerclient.base.clock import Clock
from workerclient.base.errors import Conflict, NotFound
from workerclient.objects.resource import Precondition

PROBE_SECONDS: Final = 3.0
_WORDS: Final = "Turnstile is taking over this check"
_OVERWRITES: Final = 3
_OVERWRITE_SECONDS: Final = 60.0
"""This many overwrites within this time are not made by a person."""
SERVED_BY_ANOTHER: Final = "is served by another controller"
_REMEDY: Final = (
    "switch off Kueue's feature gate MultiKueue on the hub, or set hub.controllerName to Turnstile's own; "
    "make sure that only one Turnstile runs"
)


class _Tug:
    """What we last wrote to one condition, and when another writer overwrote it."""

    def __init__(self, ours: Condition) -> None:
        self.ours = ours
        self.version = ""
        self.overwrites: deque[float] = deque(maxlen=_OVERWRITES)
        self.is_given_up = False


class Rivals:
    """Watches for other controllers."""

    def __init__(self, hub: HubLink, controller_name: str, clock: Clock) -> None:
        self._hub = hub
        self._bears_kueues_name = controller_name == MULTIKUEUE_NAME
        self._clock = clock
        self._tugs: dict[str, _Tug] = {}
        self._wrote_before: str | None = None
        self._problem = ""
        self._found = asyncio.Event()

    async def refuse_present(self) -> None:
        """Raise if another controller serves one of our checks now; possible only under Kueue's own controller name."""
        if not self._bears_kueues_name:
            return
        records = (self._hub.workload(key) for key in self._hub.workloads.cache)
        self._wrote_before = max((r.kueue_wrote for r in records if isinstance(r, HubRecord)), default="")
        ours = [check for check in readable(self._hub.checks.cache) if self._hub.is_ours(check)]
        probed = [check.name for check in ours if await self._claim(check)]
        if not probed:
            return
        await self._clock.sleep(PROBE_SECONDS)
        for name in probed:
            found = self._hub.checks.cache.get(ObjectKey("", name))
            if isinstance(found, CheckRecord) and found.active is not None and found.active.message != _WORDS:
                raise RivalError(
                    f'AdmissionCheck "{name}" {SERVED_BY_ANOTHER}, which wrote {found.active.message!r}: {_REMEDY}'
                )

    async def run(self) -> None:
        """Raise once another controller was noticed."""
        await self._found.wait()
        get_log().error("rival.found", problem=self._problem)
        raise RivalError(self._problem)

    def check_writer(self, workload: HubRecord) -> None:
        """Check who wrote a Workload: Kueue's controller leaves its name there."""
        if self._wrote_before is None or workload.kueue_wrote <= self._wrote_before:
            return
        if workload.check(self._hub.our_checks()) is not None:
            self._find(
                f'Workload "{workload.namespace}/{workload.name}" {SERVED_BY_ANOTHER}, which wrote its '
                f"status as {MULTIKUEUE_NAME} at {workload.kueue_wrote}: {_REMEDY}"
            )

    def wrote(self, uid: str, condition: Condition) -> None:
        """Record what we wrote to the condition of a check or cluster."""
        tug = self._tugs.setdefault(uid, _Tug(condition))
        tug.ours = condition

    def keeps(self, subject: str, record: CheckRecord | ClusterRecord) -> bool:
        """Return whether another controller writes the condition.

        For one of our checks the daemon then ends. A MultiKueueCluster may also be used by Kueue's controller.
        """
        tug = self._tugs.get(record.uid)
        if tug is None:
            return False
        if record.active is not None and _words(record.active) != _words(tug.ours):
            self._overwritten(subject, record, tug)
        return tug.is_given_up

    def _overwritten(self, subject: str, record: CheckRecord | ClusterRecord, tug: _Tug) -> None:
        if record.resource_version == tug.version or tug.is_given_up:
            return
        now = self._clock.monotonic()
        tug.version = record.resource_version
        tug.overwrites.append(now)
        if len(tug.overwrites) < _OVERWRITES or now - tug.overwrites[0] > _OVERWRITE_SECONDS:
            return
        tug.is_given_up = True
        theirs = record.active.message if record.active is not None else ""
        if isinstance(record, CheckRecord) or self._bears_kueues_name:
            self._find(
                f"{subject} {SERVED_BY_ANOTHER}, which overwrote its condition {_OVERWRITES} times "
                f"within a minute, last with {theirs!r}: {_REMEDY}"
            )
        else:
            get_log().warning("condition.left_to_another", subject=subject, theirs=theirs)

    def _find(self, problem: str) -> None:
        self._problem = self._problem or problem
        self._found.set()

    async def _claim(self, check: CheckRecord) -> bool:
        """Write our message where a condition exists already; its status stays as it is."""
        if check.active is None:
            return False
        health = Health(check.active.is_true, check.active.reason, _WORDS)
        condition = new_condition(check.active, health, check.generation, self._clock.now_ns())
        if condition is None:
            return True
        operations = condition_patch(check.condition_order, condition)
        fence = Precondition(check.uid, check.resource_version)
        try:
            await self._hub.checks.resource.json_patch(
                ObjectKey("", check.name), operations, fence, subresource="status"
            )
        except (Conflict, NotFound):
            return False
        return True


def _words(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message
