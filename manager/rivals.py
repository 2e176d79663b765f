"""Notices whether somebody else serves the same AdmissionChecks.

Kueue's own controller, where it is switched on, puts the condition `Active` of a check right again as soon as somebody
else writes it. So the daemon writes its own words there first and watches whether they stay.
"""

from config.names import MULTIKUEUE_NAME
from gates.activity import CheckRecord, Health, new_condition
from gates.patches import condition_patch
from manager.hub import HubLink, readable
from workerclient.clock import Clock
from workerclient.errors import Conflict, NotFound
from workerclient.kind import Key
from workerclient.resource import Precondition

PROBE_SECONDS = 3.0
_WORDS = "Turnstile is taking over this check"


class RivalError(Exception):
    """Another controller serves the same checks."""


async def refuse_rivals(hub: HubLink, controller_name: str, clock: Clock) -> None:
    """Raise if a check of ours is served by somebody else; only Kueue's own name can be."""
    if controller_name != MULTIKUEUE_NAME:
        return
    ours = [check for check in readable(hub.checks.cache) if hub.is_ours(check)]
    probed = [check.name for check in ours if await _claim(hub, check, clock)]
    if not probed:
        return
    await clock.sleep(PROBE_SECONDS)
    for name in probed:
        found = hub.checks.cache.get(Key("", name))
        if isinstance(found, CheckRecord) and found.active is not None and found.active.message != _WORDS:
            raise RivalError(
                f'AdmissionCheck "{name}" is served by another controller, which wrote {found.active.message!r}: '
                f"switch off Kueue's feature gate MultiKueue on the hub, or set hub.controllerName to Turnstile's own"
            )


async def _claim(hub: HubLink, check: CheckRecord, clock: Clock) -> bool:
    """Write our words where a condition stands already; its status stays as it is."""
    if check.active is None:
        return False
    health = Health(check.active.is_true, check.active.reason, _WORDS)
    condition = new_condition(check.active, health, check.generation, clock.now_ns())
    if condition is None:
        return True
    operations = condition_patch(check.condition_order, condition)
    fence = Precondition(check.uid, check.resource_version)
    try:
        await hub.checks.resource.json_patch(Key("", check.name), operations, fence, subresource="status")
    except (Conflict, NotFound):
        return False
    return True
