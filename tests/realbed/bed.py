"""A hub and workers on real Kueue: started side by side, all stopped together, nothing left behind."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.realbed import build
from tests.realbed.cluster import RealCluster, start_all
from tests.realbed.kueue import KueueOptions
from tests.realbed.processes import ProcessGroup

HUB = "hub"


def worker_names(count: int) -> list[str]:
    """Return the names of that many workers."""
    return [f"worker-{number}" for number in range(1, count + 1)]


@dataclass(frozen=True, slots=True)
class BedOptions:
    """What a bed is made of."""

    workers: int = 2
    hub: KueueOptions = field(default_factory=KueueOptions)
    worker: KueueOptions = field(default_factory=KueueOptions)
    releases: Mapping[str, str] = field(default_factory=dict)
    """The version of Kueue of clusters that do not have the usual one."""
    audited: bool = False
    """Whether the API servers keep a log of who asked for what."""


@dataclass(frozen=True, slots=True)
class Bed:
    """Running clusters."""

    directory: Path
    hub: RealCluster
    workers: Mapping[str, RealCluster]
    processes: ProcessGroup


@contextmanager
def run(directory: Path, options: BedOptions | None = None) -> Iterator[Bed]:
    """Run a bed with its files under the directory; what an earlier bed left there is removed."""
    options = options or BedOptions()
    plan = {HUB: options.hub} | dict.fromkeys(worker_names(options.workers), options.worker)
    for name, version in options.releases.items():
        plan[name] = replace(plan[name], binary=build.kueue_program(version))
    for name in (*plan, "logs"):
        shutil.rmtree(directory / name, ignore_errors=True)
        (directory / name).mkdir(parents=True)
    with ProcessGroup(directory / "logs") as processes:
        clusters = start_all(processes, directory, plan, HUB, audited=options.audited)
        hub = clusters.pop(HUB)
        yield Bed(directory, hub, clusters, processes)
