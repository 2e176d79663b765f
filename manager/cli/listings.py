"""The lists of `turnstile status`: their columns, and what stands in them."""

from collections.abc import Callable
from typing import Any, Final

from config.names import KUEUE_GROUP
from manager.cli.conventions.ages import age, until
from manager.cli.conventions.output import Column, Listing, Obj
from manager.cli.conventions.terminal import Tone

_CALM: Final = frozenset({"Connected", "Admitted", "Finished", "exact", "reliable"})
_ALARMING: Final = frozenset({"Lost", "Rejected", "wrong", "unreliable", "Inactive"})
_NAMESPACE: Final = Column("NAMESPACE", lambda each: each["namespace"])
_NAME: Final = Column("NAME", lambda each: each["name"])


def listing_of(subject: str, answer: Obj, *, has_namespaces: bool) -> Listing:
    """Return the list that an answer holds."""
    now, items = answer["now"], answer[subject]
    columns = _COLUMNS[subject](now)
    first = [_NAMESPACE] if has_namespaces and subject != "workers" else []
    return Listing(
        kind=_KINDS[subject],
        items=items,
        columns=[*first, *columns],
        name=_worker_name if subject == "workers" else workload_name,
        empty=_EMPTY[subject],
        more={"source": answer["source"], "asOf": now},
        key=lambda each: (each.get("namespace"), each["name"], each.get("worker")),
    )


def workload_name(item: Obj) -> str:
    """Return how kubectl names a Workload."""
    return f"workload.{KUEUE_GROUP}/{item['name']}"


def _worker_name(item: Obj) -> str:
    return f"multikueuecluster.{KUEUE_GROUP}/{item['name']}"


def _workers(now: str) -> list[Column]:
    return [
        _NAME,
        Column("CONNECTION", _field("connection"), tone=_tone("connection")),
        Column("COPIES", _field("copies")),
        Column("FORECASTS", _field("forecast"), tone=_tone("forecast")),
        Column("EXACT", lambda each: "-" if each["hitRate"] is None else f"{each['hitRate']}%"),
        Column("PODS", lambda each: each.get("podForecast") or "off", is_wide=True),
        Column("LOST", lambda each: age(each["lostSince"], now), is_wide=True),
        Column("SKEW", _skew, is_wide=True),
        Column("WORKLOADS", _field("workloads"), is_wide=True),
        Column("MESSAGE", lambda each: "-" if each["message"] == each["connection"] else each["message"]),
    ]


def _skew(each: Obj) -> str:
    return "-" if each["clockSkewSeconds"] is None else f"{each['clockSkewSeconds']:+g}s"


def _workloads(now: str) -> list[Column]:
    return [
        _NAME,
        Column("PHASE", _field("phase"), tone=_tone("phase")),
        Column("CLUSTER", _field("cluster")),
        Column("GATE", _field("gate")),
        Column("AGE", lambda each: age(each["created"], now)),
        Column("OWNER", _field("owner"), is_wide=True),
        Column("QUEUE", _field("queue"), is_wide=True),
        Column("CLUSTERQUEUE", _field("clusterQueue"), is_wide=True),
        Column("NOMINATED", lambda each: ",".join(each["nominated"]) or "-", is_wide=True),
        Column("FORECAST", _field("forecast"), is_wide=True, tone=_tone("forecast")),
        Column("MESSAGE", _field("message")),
    ]


def _gates(now: str) -> list[Column]:
    return [
        _NAME,
        Column("WORKER", _field("worker")),
        Column("GATE", _field("gate"), tone=lambda each: Tone.STRONG if each["gate"] == "Open" else None),
        Column("ASKED", lambda each: age(each["asksSince"], now)),
        Column("OPENED", lambda each: age(each["opened"], now)),
        Column("TURN ENDS", lambda each: until(each["turnEnds"], now)),
    ]


def _forecasts(now: str) -> list[Column]:
    return [
        _NAME,
        Column("WORKER", _field("worker")),
        Column("VERDICT", _field("verdict")),
        Column("VICTIMS", lambda each: each["cost"]["victims"]),
        Column("RESULT", _field("result"), tone=_tone("result")),
        Column("OPENED", lambda each: age(each["opened"], now)),
        Column("PODS", lambda each: each["cost"]["pods"], is_wide=True),
        Column("FLAVORS", lambda each: ",".join(f"{k}={v}" for k, v in each["flavors"].items()) or "-", is_wide=True),
        Column("MESSAGE", lambda each: each["resultMessage"] or each["message"] or "-"),
    ]


_COLUMNS: Final = {"workers": _workers, "workloads": _workloads, "gates": _gates, "forecasts": _forecasts}
_KINDS: Final = {
    "workers": "WorkerList",
    "workloads": "WorkloadList",
    "gates": "GateList",
    "forecasts": "ForecastList",
}
_EMPTY: Final = {
    "workers": "there are no workers: no MultiKueueConfig of a check of ours names one",
    "workloads": "no Workload with a check of ours is waiting or running here",
    "gates": "no Workload has a gate here",
    "forecasts": "no gate was opened on a forecast here",
}


def _field(name: str) -> Callable[[Obj], Any]:
    return lambda each: "-" if each[name] in ("", None) else each[name]


def _tone(name: str) -> Callable[[Obj], Tone | None]:
    def tone(each: Obj) -> Tone | None:
        return Tone.GOOD if each[name] in _CALM else Tone.BAD if each[name] in _ALARMING else None

    return tone
