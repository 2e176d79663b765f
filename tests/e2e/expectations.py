"""Which arrivals are likely to be about a preemption, so that most of a long test is about what it is for.

The engine guesses, from the generated objects alone, where real Kueue would put the crowd and what it would do next. A
guess only chooses who is sent: it is neither shown to Turnstile nor compared with anything.
"""

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.cycles.simulation import simulate
from engine.objects.configuration import KueueConfiguration
from engine.prediction.predict import predict
from engine.vocabulary.decision import Outcome
from tests.differential.catalogue import Json
from tests.differential.workloads import NOW, rfc3339

_NOW_NS = parse_time(rfc3339(NOW))


def settled(objects: list[Json], crowd: list[Json]) -> list[Json]:
    """Return the crowd as Kueue would let it in, without those that it would not."""
    quiet = [{**each, "spec": {**each["spec"], "preemption": {}}} for each in objects if each["kind"] == "ClusterQueue"]
    others = [each for each in objects if each["kind"] != "ClusterQueue"]
    result = simulate([*others, *quiet, *crowd], _NOW_NS)
    return [dict(raw) for raw in result.final.workloads.values() if (raw.get("status") or {}).get("admission")]


def is_likely_to_preempt(objects: list[Json], running: list[Json], arrival: Json) -> bool:
    """Guess what a workload would do."""
    model = ClusterModel(KueueConfiguration())
    for raw in (*objects, *running, arrival):
        reduced = model.reduce(raw)
        if reduced is not None:
            model.put(*reduced)
    key = ObjectKey(arrival["metadata"]["namespace"], arrival["metadata"]["name"])
    return predict(model, key, _NOW_NS).outcome in (Outcome.PREEMPT, Outcome.SKIPPED, Outcome.AMBIGUOUS)
