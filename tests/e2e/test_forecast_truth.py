"""Forecasts on real Kueue: a small part of `make forecast-truth`."""

import secrets
from pathlib import Path

from tests.e2e.clusters import Clusters
from tests.e2e.scene import Scene
from tests.e2e.series import Series, failures, tally
from tests.e2e.trials import Ending

WANTED = 10
FIRST_SEED = 10_001


async def test_forecasts_come_true_on_real_kueue(audited_clusters: Clusters, tmp_path: Path) -> None:
    name, worker = next(iter(audited_clusters.workers.items()))
    scene = Scene(f"f-{secrets.token_hex(2)}", Clusters(audited_clusters.hub, {name: worker}), tmp_path)
    series = Series(scene, FIRST_SEED, WANTED, at_once=4, note=lambda _: None)
    try:
        await series.run()
    finally:
        await scene.tear_down()
    assert failures(series.outcomes) == []
    assert sum(each.ending is Ending.EXACT for each in series.outcomes) >= WANTED // 2, tally(series.outcomes)
