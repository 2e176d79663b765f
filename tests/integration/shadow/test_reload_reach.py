"""What a reload reaches in shadow mode: every field that may change, but for those of what is not there."""

from pathlib import Path

from config.loading.changes import LIVE
from tests.integration.orchestrator.forecasting import queue
from tests.integration.shadow.world import shadowing
from tests.support.recording_configuration import reload

ABSENT = frozenset({("gc_interval",)})
"""A shadow collects no garbage."""
BY_ENDPOINTS = frozenset(field for field in LIVE if field[0] == "http")
KEPT_WHOLE = ("kubeconfig_policy", "cluster_profiles")
"""Sections that are kept, and consulted when a kubeconfig is read for the first time."""


async def test_every_live_field_reaches_a_part_of_the_shadow(tmp_path: Path) -> None:
    async with shadowing(tmp_path, {"w1": [queue()]}) as made:
        assert made.shadow is not None
        hub = {**made.clusters.options["hub"], "kubeconfig": str(made.hub.local.kubeconfig_path)}
        made.clusters.options["hub"] = hub
        reads = await reload(made.configuration(), made.shadow.prepare)
        made.shadow.inspector.workers()  # consults what forecasts are judged by
        await made.until(lambda: ("discovery", "enabled") in reads)
        unread = {field for field in LIVE - reads if field[0] not in KEPT_WHOLE or field[:1] not in reads}
        assert unread == ABSENT | BY_ENDPOINTS
