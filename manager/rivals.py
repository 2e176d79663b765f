"""Notices whether somebody else serves the same AdmissionChecks, at the start and as long as the daemon runs.

At the start: Kueue's own controller, where it is switched on, puts the condition `Active` of a check right again as
soon as somebody else writes it. So the daemon writes its own words there first and watches whether they stay.
Later: whoever writes over a condition of ours again and again is another controller, and so is Kueue's field manager
on a Workload of ours. Two controllers of one check would undo each other's work, so the daemon ends and says why.
"""

import asyncio
from collections import deque
from typing import Final

from config.api.meta import Condition
from config.names import MULTIKUEUE_NAME
from gates.activity import CheckRecord, ClusterRecord, Health, new_condition
from gates.patches import condition_patch
from gates.records import HubRecord
from manager.errors import RivalError
from manager.hub import HubLink, readable
from manager.logs import get_log
from workerclient.clock import Clock
from workerclient.errors import Conflict, NotFound
from workerclient.kind import Key
from workerclient.resource import Precondition

PROBE_SECONDS: Final = 3.0
_WORDS: Final = "Turnstile is taking over this check"
_OVERWRITES: Final = 3
_OVERWRITE_SECONDS: Final = 60.0
"""So many overwrites within so long are no person's."""
_REMEDY: Final = (
    "switch off Kueue's feature gate MultiKueue on the hub, or set hub.controllerName to Turnstile's own; "
    "see that only one Turnstile runs"
)


class _Tug:
    """What we last wrote to one condition, and when somebody else wrote over it."""

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
        """Raise if a check of ours is served by somebody else now; only Kueue's own name can be."""
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
            found = self._hub.checks.cache.get(Key("", name))
            if isinstance(found, CheckRecord) and found.active is not None and found.active.message != _WORDS:
                raise RivalError(
                    f'AdmissionCheck "{name}" is served by another controller, '
                    f"which wrote {found.active.message!r}: {_REMEDY}"
                )

    async def run(self) -> None:
        """Raise once another controller was noticed."""
        await self._found.wait()
        get_log().error("rival.found", problem=self._problem)
        raise RivalError(self._problem)

    def look_at(self, workload: HubRecord) -> None:
        """Look at a Workload that somebody wrote: Kueue's controller leaves its name there."""
        if self._wrote_before is None or workload.kueue_wrote <= self._wrote_before:
            return
        if workload.check(self._hub.our_checks()) is not None:
            self._find(
                f'Workload "{workload.namespace}/{workload.name}" is served by another controller, which wrote its '
                f"status as {MULTIKUEUE_NAME} at {workload.kueue_wrote}: {_REMEDY}"
            )

    def wrote(self, uid: str, condition: Condition) -> None:
        """Take note of what we wrote to the condition of a check or cluster."""
        tug = self._tugs.setdefault(uid, _Tug(condition))
        tug.ours = condition

    def keeps(self, subject: str, record: CheckRecord | ClusterRecord) -> bool:
        """Return whether the condition is somebody else's to write.

        A check of ours is nobody else's: then the daemon ends. A MultiKueueCluster may serve Kueue's controller, too.
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
                f"{subject} is served by another controller, which wrote over its condition {_OVERWRITES} times "
                f"within a minute, last with {theirs!r}: {_REMEDY}"
            )
        else:
            get_log().warning("condition.left_to_another", subject=subject, theirs=theirs)

    def _find(self, problem: str) -> None:
        self._problem = self._problem or problem
        self._found.set()

    async def _claim(self, check: CheckRecord) -> bool:
        """Write our words where a condition stands already; its status stays as it is."""
        if check.active is None:
            return False
        health = Health(check.active.is_true, check.active.reason, _WORDS)
        condition = new_condition(check.active, health, check.generation, self._clock.now_ns())
        if condition is None:
            return True
        operations = condition_patch(check.condition_order, condition)
        fence = Precondition(check.uid, check.resource_version)
        try:
            await self._hub.checks.resource.json_patch(Key("", check.name), operations, fence, subresource="status")
        except (Conflict, NotFound):
            return False
        return True


def _words(condition: Condition) -> tuple[str, str, str]:
    return condition.status, condition.reason, condition.message
