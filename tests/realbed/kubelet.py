"""Plays the kubelet of a real cluster: bound pods run, succeed when their time is over, and stop when told to.

Nothing is executed. How long a pod runs is said by its annotation; without one it runs until it is deleted.
Runs as a process of its own: `python -m tests.realbed.kubelet KUBECONFIG`.
"""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from config.api.meta import format_time, parse_time
from localcluster.kueue.annotations import AnnotationError, run_ns
from tests.conformance.client import Api, Obj
from tests.conformance.resources import PODS
from tests.realbed.kubeconfig import connected

_PAUSE_SECONDS = 1.0
_WATCH_SECONDS = "300"
_LOG = logging.getLogger("kubelet")


@dataclass
class Kubelet:
    """Looks at every pod that changed or whose time has come; a pod's last state is all that it remembers."""

    api: Api
    _pods: dict[str, Obj] = field(default_factory=dict)
    _timers: dict[str, asyncio.TimerHandle] = field(default_factory=dict)
    _looks: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self) -> None:
        """Play until cancelled; while the API server is away, wait for it."""
        while True:
            try:
                async for pod in self._changes():
                    self._look_soon(pod)
            except (OSError, aiohttp.ClientError, AssertionError, TimeoutError) as error:
                _LOG.info("listing again: %s", error)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _changes(self) -> AsyncIterator[Obj]:
        listed = (await self.api.get(PODS.at())).ok()
        self._pods = {pod["metadata"]["uid"]: pod for pod in listed["items"]}
        for pod in listed["items"]:
            yield pod
        since = listed["metadata"]["resourceVersion"]
        async with self.api.watch(PODS.at(), resourceVersion=since, timeoutSeconds=_WATCH_SECONDS) as watch:
            while (event := await watch.next_or_silence()) is not None:
                assert event["type"] != "ERROR", event
                uid = event["object"]["metadata"]["uid"]
                if event["type"] == "DELETED":
                    self._pods.pop(uid, None)
                    continue
                self._pods[uid] = event["object"]
                yield event["object"]

    def _look_soon(self, pod: Obj) -> None:
        task = asyncio.get_running_loop().create_task(self._look(pod))
        self._looks.add(task)
        task.add_done_callback(self._looks.discard)

    async def _look(self, pod: Obj) -> None:
        metadata, status = pod["metadata"], pod.get("status") or {}
        path = PODS.at(metadata["namespace"], metadata["name"])
        if "nodeName" not in pod["spec"]:
            return
        try:
            if "deletionTimestamp" in metadata:
                now = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
                await self.api.delete(path, now)
            elif status.get("phase") == "Pending":
                await self._report(path, metadata["uid"], _running(pod))
            elif status.get("phase") == "Running" and (ends_ns := _ends_ns(pod)) is not None:
                await self._end_in_time(pod, path, ends_ns)
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            _LOG.info("%s: %s", path, error)
            self._look_at(pod, _PAUSE_SECONDS)

    async def _end_in_time(self, pod: Obj, path: str, ends_ns: int) -> None:
        left = (ends_ns - time.time_ns()) / 1e9
        if left > 0:
            self._look_at(pod, left)
            return
        await self._report(
            path, pod["metadata"]["uid"], {"phase": "Succeeded", "conditions": [_state("Ready", "False")]}
        )

    def _look_at(self, pod: Obj, seconds: float) -> None:
        def look() -> None:
            if (current := self._pods.get(uid)) is not None:
                self._look_soon(current)

        uid = pod["metadata"]["uid"]
        if uid in self._timers:
            self._timers.pop(uid).cancel()
        self._timers[uid] = asyncio.get_running_loop().call_later(seconds, look)

    async def _report(self, path: str, uid: str, status: Obj) -> None:
        await self.api.patch(f"{path}/status", {"metadata": {"uid": uid}, "status": status})


def _ends_ns(pod: Obj) -> int | None:
    try:
        runs_ns = run_ns(pod)
    except AnnotationError as error:
        _LOG.warning("%s", error)
        return None
    return None if runs_ns is None else parse_time(pod["status"]["startTime"]) + runs_ns


def _running(pod: Obj) -> Obj:
    now = format_time(time.time_ns())
    conditions = [_state(kind, "True") for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")]
    started = {
        "ready": True,
        "started": True,
        "restartCount": 0,
        "imageID": "",
        "state": {"running": {"startedAt": now}},
    }
    containers = [{"name": each["name"], "image": each["image"], **started} for each in pod["spec"]["containers"]]
    return {"phase": "Running", "startTime": now, "conditions": conditions, "containerStatuses": containers}


def _state(kind: str, status: str) -> Obj:
    return {"type": kind, "status": status}


async def _main(kubeconfig: str) -> None:
    async with connected(kubeconfig) as api:
        await Kubelet(api).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(_main(Path(sys.argv[1]).read_text()))
