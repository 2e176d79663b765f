"""What a bed holds for trying Turnstile: queues on every cluster, and a configuration file."""

from pathlib import Path

import yaml

from config.names import CONFIG_API_VERSION, CONFIG_KIND
from localcluster.sample_queues import Ties, hub_objects, worker_objects
from tests.realbed import objects
from tests.realbed.bed import Bed
from tests.realbed.cluster import TURNSTILE_NAMESPACE

_WORKER_CPU = "8"


def furnish(bed: Bed) -> Path:
    """Create a queue on every cluster, tie the workers to the hub, and write `turnstile.yaml`; return its path."""
    for worker in bed.workers.values():
        objects.apply(worker.server, worker_objects(_WORKER_CPU))
    kubeconfigs = {name: worker.turnstile_kubeconfig().read_bytes() for name, worker in bed.workers.items()}
    ties = Ties(list(bed.workers), kubeconfigs, TURNSTILE_NAMESPACE)
    objects.apply(bed.hub.server, hub_objects(str(int(_WORKER_CPU) * len(bed.workers)), ties))
    return _write_configuration(bed)


def _write_configuration(bed: Bed) -> Path:
    path = bed.directory / "turnstile.yaml"
    document = {
        "apiVersion": CONFIG_API_VERSION,
        "kind": CONFIG_KIND,
        "hub": {"kubeconfig": str(bed.hub.turnstile_kubeconfig())},
        "logging": {"format": "console"},
        "journal": {"path": str(bed.directory / "journal.db")},
    }
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path
