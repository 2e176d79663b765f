"""The story, act by act. It submits jobs as a user would and waits for what the clusters show, never for time."""

from collections.abc import Sequence

from config.api.meta import NANOSECONDS, Obj
from manager.demo import cast
from manager.demo.clusters import NEVER, STOP_SECONDS
from manager.demo.foresight import preempted_jobs, tell_plan, victims_by_worker
from manager.demo.invariants import victims
from manager.demo.playbill import Playbill
from manager.demo.sightings import ClusterSighting, JobPhase, SightingKind, cpus, phase
from manager.demo.stage import Stage


class Story:
    """Plays on one stage."""

    def __init__(self, stage: Stage, playbill: Playbill) -> None:
        self._stage = stage
        self._playbill = playbill

    async def fill_workers(self) -> None:
        """Act 1: low-priority jobs take all that the workers have."""
        for worker in cast.WORKERS:
            self._stage.create(worker, cast.bystander())
            for name in cast.LOW_PRIORITY:
                self._stage.create(worker, cast.low_priority_job(name))
        await self._stage.until(self._is_full, "every worker runs its low-priority jobs")
        taken = ", ".join(f"{worker} {self._used(worker)} of {cast.WORKER_CPUS}" for worker in cast.WORKERS)
        self._playbill.say(f"CPUs in use: {taken}")
        await self._playbill.pace.step()

    async def one_preempts(self) -> None:
        """Act 2: a job that fits nowhere arrives."""
        await self._playbill.pace.step()
        begin = len(self._stage.sightings)
        await self._foretell(cast.FIRST)
        self._submit(cast.FIRST)
        await self._finished(cast.FIRST)
        self._sum_up(cast.FIRST, self._stage.sightings[begin:])
        await self._stage.until(self._is_full, "the victims run again")
        self._playbill.say("the preempted jobs run again, every worker is full")
        await self._playbill.pace.step()

    async def one_is_stuck(self) -> None:
        """Act 3: the victims of whichever worker is first do not stop."""
        await self._playbill.pace.step()
        begin = len(self._stage.sightings)
        for worker in cast.WORKERS:
            self._set_stopping(worker, NEVER)
        await self._foretell(cast.SECOND)
        self._submit(cast.SECOND)
        await self._stage.until(lambda: self._opened(cast.SECOND), f"a gate opens for {cast.SECOND}")
        first = self._opened(cast.SECOND)[0]
        for worker in cast.WORKERS:
            if worker != first:
                self._set_stopping(worker, str(cast.STOP_TIME_SECONDS))
        await self._stage.until(lambda: cpus(self._stopping(first)) >= cast.URGENT_CPUS, f"{first} tells jobs to stop")
        names = " and ".join(job["metadata"]["name"] for job in self._stopping(first))
        self._playbill.say(f"{names} ignore it: {cast.SECOND} cannot start", first)
        await self._stage.until(lambda: len(self._opened(cast.SECOND)) > 1, "the next gate opens")
        self._tell_gap(cast.SECOND)
        await self._finished(cast.SECOND)
        self._sum_up(cast.SECOND, self._stage.sightings[begin:])
        self._set_stopping(first, str(cast.STOP_TIME_SECONDS))
        await self._stage.until(self._is_full, "the stuck jobs stop and run again")
        self._playbill.say("the stuck jobs stopped at last, every worker is full again")
        await self._playbill.pace.step()

    async def _foretell(self, job: str) -> None:
        """Say before a job is submitted which jobs each worker would preempt for it."""
        at_risk = victims_by_worker(await self._stage.plan(cast.urgent_job(job)))
        self._playbill.at_risk = at_risk
        for worker, jobs in at_risk.items():
            self._playbill.say(tell_plan(jobs), worker)
        await self._playbill.pace.step()

    def _submit(self, job: str) -> None:
        self._stage.create(cast.HUB, cast.urgent_job(job))
        self._playbill.say(f"{job} is submitted: {cast.URGENT_CPUS} CPUs, high priority", cast.HUB)

    async def _finished(self, job: str) -> None:
        """Wait until a job is complete on the hub and nothing of it is left on the workers."""

        def is_over() -> bool:
            seen = [each.what for each in self._stage.sightings if each.job == job and each.cluster == cast.HUB]
            return SightingKind.SUCCEEDED in seen and not self._copies(job)

        await self._stage.until(is_over, f"{job} is complete on the hub and its replicas are gone")

    def _copies(self, job: str) -> list[str]:
        return [
            worker
            for worker in cast.WORKERS
            if any(self._stage.job_of(each) == job for each in self._stage.workloads(worker))
            or any(each["metadata"]["name"] == job for each in self._stage.jobs(worker))
        ]

    def _sum_up(self, job: str, seen: Sequence[ClusterSighting]) -> None:
        ran = [each.cluster for each in seen if each.what is SightingKind.STARTED and each.job == job]
        counts = victims(seen)
        for worker, foretold in self._playbill.at_risk.items():
            if preempted := preempted_jobs(seen, worker):
                self._playbill.compare(worker, foretold, preempted)
        told = ", ".join(f"{counts[worker]} on {worker}" for worker in cast.WORKERS if worker in counts)
        self._playbill.at_risk = {}
        self._playbill.say(f"{job} ran on {' and '.join(ran)}; preempted: {told or 'none'}")

    def _tell_gap(self, job: str) -> None:
        """Say how long the second worker had to wait, as the clusters show it."""
        opened = [each for each in self._stage.sightings if each.what is SightingKind.OPENED and each.job == job]
        seconds = (opened[1].at_ns - opened[0].at_ns) / NANOSECONDS
        self._playbill.say(f"its window opened {seconds:.1f} s after {opened[0].cluster}'s", opened[1].cluster)

    def _opened(self, job: str) -> list[str]:
        return [each.cluster for each in self._stage.sightings if each.what is SightingKind.OPENED and each.job == job]

    def _stopping(self, worker: str) -> list[Obj]:
        return [job for job in self._stage.jobs(worker) if phase(job) is JobPhase.STOPPING]

    def _set_stopping(self, worker: str, value: str) -> None:
        for job in self._stage.jobs(worker):
            if job["metadata"]["name"] in cast.LOW_PRIORITY:
                self._stage.annotate_job(worker, job["metadata"]["name"], STOP_SECONDS, value)

    def _is_full(self) -> bool:
        return all(self._used(worker) == cast.WORKER_CPUS for worker in cast.WORKERS)

    def _used(self, worker: str) -> int:
        return cpus(job for job in self._stage.jobs(worker) if phase(job) is JobPhase.RUNNING)
