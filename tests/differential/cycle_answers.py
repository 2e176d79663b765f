"""The engine's simulation in the words of the oracle's `cycles` answer, so that the two can be compared."""

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from config.api.meta import ObjectKey, parse_time
from engine.cycles.scheduler import Scheduler
from engine.cycles.simulation import CycleStep, Plan, QueueContents, Simulation, Simulator, Victims
from engine.objects.configuration import FairSharing, KueueConfiguration, RequeuingTimestamp
from engine.reporting.status_writes import StatusWrite
from engine.search.ties import Choices
from engine.versions.profiles import profile_of
from engine.versions.version import KueueVersion
from tests.differential.catalogue import Json
from tests.differential.comparison import outcomes

_MOST_HISTORIES = 200
_WAITED = re.compile(r"wait time since queued was -?\d+s")
_REFUSAL = re.compile(r"(couldn't assign flavors to pod set [^:]+): .*?(?=; couldn't|\. Pending the preemption|$)")
_ATTEMPT = re.compile(r"([\w.-]+)\((preemptionMode=\w+|NoFit|Fit)")
_SHORTAGES = ("ExceedsMaxQuota", "WaitingForQuota", "NoMatchingFlavor", "")
_REFUSED = "couldn't assign flavors"
_OVER_LIMIT = "resources validation failed"
_CONSIDERED = "; Flavors considered: "


_NAME_SOME_SHORTAGES = tuple(map(KueueVersion.parse, ("v0.17.1", "v0.18.3", "v0.19.0")))
"""What they say of a flavor ends with the first resource that can never fit, and the order is random."""


class Prediction:
    """What the engine says about a scenario of several cycles."""

    def __init__(self, scenario: Json) -> None:
        fair_sharing = scenario.get("fairSharing")
        profile = profile_of(scenario.get("kueueVersion"))
        self._configuration = KueueConfiguration(
            gates=profile.gate_table.settings(scenario.get("featureGates") or {}).gates,
            profile=profile,
            fair_sharing=None if fair_sharing is None else FairSharing.from_raw(fair_sharing),
            requeuing_timestamp=RequeuingTimestamp(scenario.get("requeuingTimestamp") or RequeuingTimestamp.EVICTION),
        )
        victims = Victims.TERMINATING if scenario.get("victimsKeepRunning") else Victims.RELEASED
        self._plan = Plan(max_cycles=scenario["cycles"], victims=victims)
        self._names_some = profile.version in _NAME_SOME_SHORTAGES
        self._objects = scenario["objects"]
        self._now_ns = parse_time(scenario["now"])

    @property
    def is_ambiguous(self) -> bool:
        """Say whether chance decides anything."""
        choices = Choices()
        self._history(choices)
        return bool(choices.taken)

    def disagreement(self, real: Json) -> str | None:
        """Return what differs from real Kueue, or None: whatever Kueue did must be a history that the engine allows."""
        if "panicked" in real.get("error", "") and any(label.startswith("kueue-crash") for label in self.labels):
            return None
        if "expect" not in real:
            return f"the oracle has no answer: {real.get('error')}"
        for happened in outcomes(real["expect"]):
            difference = self._why_impossible(self._comparable(happened))
            if difference is not None:
                return difference
        return None

    @property
    def labels(self) -> list[str]:
        """Return what the first history rests on."""
        steps, _ = self._history(Choices())
        return [label for step in steps for label in step.cycle.labels]

    def _why_impossible(self, happened: Json) -> str | None:
        """Follow every choice that leads along what happened, and no other: all histories would be too many."""
        scripts: list[tuple[int, ...]] = [()]
        nearest, agreeing_cycles = "", -1
        for _ in range(_MOST_HISTORIES):
            if not scripts:
                break
            script = scripts.pop()
            choices = Choices(script)
            steps, history = self._history(choices)
            agreeing = _agreeing_cycles(happened, history)
            if agreeing is None:
                return None
            if agreeing > agreeing_cycles:
                nearest, agreeing_cycles = _difference(happened, history), agreeing
            for position in range(len(script), _choices_made(steps[: agreeing + 1])):
                scripts.extend((*choices.taken[:position], other) for other in range(1, choices.options[position]))
        return nearest

    def _history(self, choices: Choices) -> tuple[Sequence[CycleStep], Json]:
        scheduler = Scheduler.of(self._objects, self._now_ns, self._configuration)
        result = Simulator(scheduler, self._now_ns, self._plan, choices).run()
        return result.steps, self._comparable(_simulation(result))

    def _comparable(self, history: Json) -> Json:
        comparable = _comparable(history)
        return _without_shortages(comparable) if self._names_some else comparable


def _agreeing_cycles(happened: Json, history: Json) -> int | None:
    """Return how many cycles agree from the start, None if everything does."""
    if happened == history:
        return None
    pairs = zip(happened["cycles"], history["cycles"], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _choices_made(steps: Sequence[CycleStep]) -> int:
    return sum(label.startswith("ambiguous: ") for step in steps for label in step.cycle.labels)


def _comparable(history: Json) -> Json:
    """Leave out how long a workload waited: the oracle plays the job controller and counts from other moments."""
    comparable: Json = json.loads(_WAITED.sub("wait time since queued was", json.dumps(history, sort_keys=True)))
    return comparable


def _without_shortages(history: Json) -> Json:
    """Leave out which resources are lacking, and cycles at the end in which only that was said in other words."""
    cycles = [_cycle_without_shortages(cycle) for cycle in history["cycles"]]
    while cycles and _is_idle(cycles):
        cycles.pop()
    return {**history, "cycles": cycles, "stopped": ""}


def _cycle_without_shortages(cycle: Json) -> Json:
    told = [_without_shortage(each) for each in cycle["conditions"]]
    changed = [each for each in told if not _is_about_shortage(each)]
    events = [_without_shortage(each) for each in cycle["events"]]
    # An event is cut after so many characters, wherever that is in the longer text.
    starts = (_REFUSED, _OVER_LIMIT)
    cut = [{**each, "message": ""} if each["message"].startswith(starts) else each for each in events]
    return {**cycle, "conditions": changed, "events": cut}


def _is_idle(cycles: list[Json]) -> bool:
    """Say whether the last cycle did nothing and left the queues as the one before it did."""
    last, before = cycles[-1], cycles[-2] if len(cycles) > 1 else None
    did = any(last[what] for what in ("admitted", "preempted", "conditions", "gates", "released", "afterRelease"))
    return not did and before is not None and before["queuesOfNextCycle"] == last["queues"] == last["queuesOfNextCycle"]


def _without_shortage(told: Json) -> Json:
    message, considered, attempts = told["message"].partition(_CONSIDERED)
    message = _REFUSAL.sub(r"\1", message) + considered + ", ".join(map("".join, _ATTEMPT.findall(attempts)))
    reason = "shortage" if told["reason"] in _SHORTAGES else told["reason"]
    return {**told, "message": message, "reason": reason}


def _is_about_shortage(condition: Json) -> bool:
    return condition["type"] == "QuotaReserved" and any(
        text in condition["message"] for text in (_REFUSED, _OVER_LIMIT)
    )


def _difference(real: Json, predicted: Json) -> str:
    before, after = (json.dumps(side, indent=1, sort_keys=True).splitlines() for side in (real, predicted))
    lines = list(difflib.unified_diff(before, after, "real Kueue", "engine", lineterm="", n=2))
    return "\n".join(lines[:40])


def _simulation(result: Simulation) -> Json:
    return {
        "settled": _conditions(result.settled),
        "cycles": [_cycle(number, step) for number, step in enumerate(result.steps, start=1)],
        "stopped": result.ending.value,
        "final": {
            "reserving": _names(result.final.reserving),
            "queues": _contents(result.final.queues),
        },
    }


def _cycle(number: int, step: CycleStep) -> Json:
    writes = step.cycle.writes
    return {
        "cycle": number,
        "admitted": _admitted(writes),
        "preempted": [
            {**_name(write.key), "reason": condition.reason, "message": condition.message}
            for write in sorted(writes, key=lambda write: write.key)
            for condition in write.changed_conditions
            if (condition.type, condition.status) == ("Preempted", "True")
        ],
        "conditions": _conditions(writes),
        "gates": _gates(writes),
        "queues": _contents(step.queues),
        "events": sorted(
            (
                {**_name(write.key), "type": event.type.value, "reason": event.reason, "message": event.message}
                for write in writes
                for event in write.events
            ),
            key=lambda event: (event["namespace"], event["name"], event["reason"], event["message"]),
        ),
        "released": [_name(write.key) for write in step.released],
        "afterRelease": _conditions(step.released),
        "queuesOfNextCycle": _contents(step.queues_of_next),
    }


def _admitted(writes: Iterable[StatusWrite]) -> list[Json]:
    return [
        {
            **_name(write.key),
            "clusterQueue": write.after["admission"]["clusterQueue"],
            "podSets": write.after["admission"]["podSetAssignments"],
        }
        for write in sorted(writes, key=lambda write: write.key)
        if "admission" in write.after and "admission" not in write.before
    ]


def _conditions(writes: Iterable[StatusWrite]) -> list[Json]:
    return [
        {
            **_name(write.key),
            "type": condition.type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        }
        for write in sorted(writes, key=lambda write: write.key)
        for condition in write.changed_conditions
    ]


def _gates(writes: Iterable[StatusWrite]) -> list[Json]:
    changes: list[Json] = []
    for write in sorted(writes, key=lambda write: write.key):
        before = {gate["name"]: gate.get("position") for gate in write.before.get("preemptionGates") or ()}
        changes.extend(
            {**_name(write.key), "gate": gate["name"], "position": gate["position"]}
            for gate in write.after.get("preemptionGates") or ()
            if before.get(gate["name"]) != gate["position"]
        )
    return changes


def _contents(contents: QueueContents) -> Json:
    return {"heap": _names(contents.heap), "parked": _names(contents.parked)}


def _names(keys_of: Mapping[str, Sequence[ObjectKey]]) -> dict[str, Any]:
    return {name: [str(key) for key in keys] for name, keys in keys_of.items()}


def _name(key: ObjectKey) -> Json:
    return {"namespace": key.namespace, "name": key.name}
