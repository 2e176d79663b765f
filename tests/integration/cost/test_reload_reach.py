"""What a reload reaches in the cost controller by itself: the clusters, how they are reached, and the log."""

from pathlib import Path

from config.sections.settings import Configuration
from engine.cost.models import reference
from manager.app.cost_service import Costs
from manager.app.service import hub_access
from tests.integration.orchestrator.kueue import Cluster
from tests.integration.orchestrator.world import steady
from tests.support.recording_configuration import reload
from tests.support.virtual_time import VirtualClock
from workerclient.cluster import ClientContext

READ = {("hub", "kubeconfig"), ("hub", "context"), ("workers",), ("logging", "format"), ("logging", "level")}
KEPT = {("kubeconfig_policy",), ("cluster_profiles",)}


async def test_the_cost_controller_goes_on_with_every_field_that_it_uses(tmp_path: Path) -> None:
    clock = VirtualClock()
    hub = Cluster("hub", tmp_path, clock)
    await hub.local.start()
    try:
        configuration = Configuration(
            api_version="config.multikueue-turnstile.dev/v1alpha1",
            kind="Configuration",
            hub={"kubeconfig": str(hub.local.kubeconfig_path)},
        )
        costs = Costs(configuration, reference, hub_access(configuration), ClientContext(clock, steady))
        reads = await reload(configuration, costs.prepare)
        await costs.close()
    finally:
        await hub.local.stop()
    assert reads >= READ | KEPT
