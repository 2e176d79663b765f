"""What the daemon costs and how fast it is: its own process, against local clusters in another one, over TLS.

python -m benchmarks orchestrator [--quick]
"""

import asyncio
from collections import Counter
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.orchestrator_processes import (
    Requests,
    running_daemon,
    running_fleet,
)

JOBS = 1_000
QUICK_JOBS = 300
WORKERS = 3
ROUNDS = 1
SIGNALS = 100
RUN_SECONDS = 0.05
ENOUGH_CPU = 1_000_000
FULL_CPU = 4
"""As many slots as the fleet's process fills before it measures signals."""
FLEETS = ((10, 100), (50, 50), (100, 50))
"""Workers and Jobs."""
INCREMENTAL = {"dispatcher": {"mode": "Incremental", "stepSize": 3}}

AIM_CPU_MS = 5.0
AIM_REQUESTS = 3.0
AIM_P99_MS = 50.0
READS = ("get", "list")
DOCUMENTS = "get documents"
"""Paths that lead to no kind; the daemon asks for those only to see whether a kind of job is served meanwhile."""
_WIDTHS = (8, 6, 12, 8, 9, 6, 18, 22)


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of Jobs to their end."""

    jobs: int
    workers: int
    seconds: float
    connect_cpu_ms: float
    cpu_ms: float
    requests: Requests
    reconciles: Counter[str]
    grown_kb: float
    left_kb: float
    """Resident memory over that before the Jobs: when they are over but still on the hub, and when they are deleted."""

    @property
    def hub(self) -> Counter[str]:
        """Return the requests to the hub for each Job; watches that were opened again are left out."""
        return self._asked("hub")

    @property
    def worker(self) -> Counter[str]:
        """Return all requests to workers together."""
        return sum((self._asked(name) for name in self.requests if name != "hub"), Counter())

    def _asked(self, cluster: str) -> Counter[str]:
        return Counter({what: n for what, n in self.requests[cluster].items() if not what.startswith("watch")})

    @property
    def per_workload_and_worker(self) -> float:
        """Return how many requests a worker gets for a Workload."""
        return self.worker.total() / self.jobs / self.workers


def run() -> None:
    """Measure and print."""
    asyncio.run(_run())


def run_quick() -> None:
    """Measure only what a workload costs, and print that first."""
    asyncio.run(_run_quick())


async def _run_quick() -> None:
    found = await _measure(WORKERS, QUICK_JOBS)
    print(f"CPU per workload   {found.cpu_ms:.2f} ms", flush=True)
    print(f"{QUICK_JOBS} Jobs, {WORKERS} workers, {found.seconds:.1f} s with the servers")
    _print_counts("requests to the hub", found.hub, found.jobs)
    _print_counts("requests to workers, per worker", found.worker, found.jobs * found.workers)
    _print_counts("reconciles", found.reconciles, found.jobs)


async def _run() -> None:
    print(f"The daemon: CPU of its process (user and system), TLS, {WORKERS} workers, {JOBS} Jobs from submission")
    print(f"until they are finished, mirrored and nothing of them is left on a worker; {ROUNDS} rounds\n")
    rounds = [await _measure(WORKERS, JOBS) for _ in range(ROUNDS)]
    _print_main(rounds)
    _print_signals(await _signals())
    await _print_fleets()


async def _measure(workers: int, jobs: int, **sections: object) -> Measured:
    async with running_fleet(workers, ENOUGH_CPU) as fleet:
        async with running_daemon(fleet, workers, **sections) as daemon:
            await fleet.order("connect")
            before, cpu, resident = await fleet.requests(), daemon.cpu_seconds(), daemon.resident_kb()
            done = await fleet.order("run", count=jobs, seconds=RUN_SECONDS, prefix="job")
            spent, grown = daemon.cpu_seconds() - cpu, daemon.resident_kb() - resident
            after, reconciles = await fleet.requests(), await daemon.reconciles()
            await fleet.order("delete")
            left = daemon.resident_kb() - resident
        return Measured(
            jobs=jobs,
            workers=workers,
            seconds=done["seconds"],
            connect_cpu_ms=cpu * 1e3,
            cpu_ms=spent * 1e3 / jobs,
            requests={name: after[name] - before[name] for name in after},
            reconciles=reconciles,
            grown_kb=grown / jobs,
            left_kb=left / jobs,
        )


async def _signals() -> list[float]:
    async with running_fleet(WORKERS, FULL_CPU) as fleet, running_daemon(fleet, WORKERS):
        await fleet.order("connect")
        answer = await fleet.order("signals", count=SIGNALS)
        return [float(each) for each in answer["latencies"]]


def _print_main(rounds: list[Measured]) -> None:
    last = rounds[-1]
    cpu = sorted(each.cpu_ms for each in rounds)
    print(f"{'CPU per workload':44} {median(cpu):>8.2f} ms   {_verdict(median(cpu), AIM_CPU_MS, 'ms')}")
    print(f"{'  of the rounds':44} {' '.join(f'{each:.2f}' for each in cpu):>8} ms")
    asked = last.per_workload_and_worker
    print(f"{'requests per workload and worker':44} {asked:>8.2f}      {_verdict(asked, AIM_REQUESTS)}")
    reads = sum(n for what, n in last.worker.items() if what.split()[0] in READS and what != DOCUMENTS)
    print(f"{'reads of workers beside watches':44} {reads:>8}      {_verdict(reads, 0)}")
    print(f"{'  asked again for kinds that they lack':44} {last.worker[DOCUMENTS]:>8}      each once in a minute")
    print(f"{'reconciles per workload':44} {last.reconciles.total() / last.jobs:>8.2f}")
    print(f"{'memory per workload, over but on the hub':44} {last.grown_kb:>8.2f} kB")
    print(f"{'memory per workload, after its deletion':44} {last.left_kb:>8.2f} kB")
    print(f"{'wall time, servers included':44} {last.seconds:>8.1f} s\n")
    _print_counts("requests to the hub", last.hub, last.jobs)
    _print_counts("requests to workers, per worker", last.worker, last.jobs * last.workers)
    _print_counts("reconciles", last.reconciles, last.jobs)


def _print_counts(title: str, counts: Counter[str], divisor: int) -> None:
    print(f"{title}, per workload")
    for what, count in counts.most_common():
        print(f"  {what:42} {count / divisor:>8.2f}")
    print()


def _print_signals(latencies: list[float]) -> None:
    cuts = quantiles(latencies, n=100)
    print(f"signal on a worker → gate open there: {len(latencies)} signals one after the other, {WORKERS} full workers")
    print(f"{'p50':44} {cuts[49]:>8.1f} ms")
    print(f"{'p99':44} {cuts[98]:>8.1f} ms   {_verdict(cuts[98], AIM_P99_MS, 'ms')} (the aim is for an idle machine)\n")


async def _print_fleets() -> None:
    print("larger fleets: every workload to all workers of its MultiKueueConfig (20 at most) at once, or to 3 of them")
    titles = (
        "workers",
        "jobs",
        "dispatch",
        "CPU ms",
        "per copy",
        "reconciles",
        "requests per copy",
        "ms to connect a worker",
    )
    print(" ".join(f"{title:>{width}}" for title, width in zip(titles, _WIDTHS, strict=True)))
    for workers, jobs in FLEETS:
        for title, sections in (("all at once", {}), ("incremental", INCREMENTAL)):
            found = await _measure(workers, jobs, **sections)
            copies = found.worker["create workloads"] / jobs
            numbers = (
                f"{found.cpu_ms:.2f}",
                f"{found.cpu_ms / copies:.2f}",
                f"{found.reconciles.total() / jobs:.1f}",
                f"{found.worker.total() / jobs / copies:.2f}",
                f"{found.connect_cpu_ms / workers:.1f}",
            )
            row = (str(workers), str(jobs), title, *numbers)
            print(" ".join(f"{cell:>{width}}" for cell, width in zip(row, _WIDTHS, strict=True)), flush=True)
    print()


def _verdict(value: float, aim: float, unit: str = "") -> str:
    return f"aim ≤ {aim:g} {unit}".rstrip() + (", met" if value <= aim else ", MISSED")
