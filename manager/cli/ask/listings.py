"""The lists of `turnstile status`: their columns and cells."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from config.api.meta import Obj
from config.names import KUEUE_GROUP
from manager.cli.ask.gate_support import gates_cell, gates_tone
from manager.cli.conventions.ages import age, until
from manager.cli.conventions.output import TableColumn, TableView
from manager.cli.conventions.terminal import Tone
from manager.cli.display.fitting import Priority

_CALM: Final = frozenset({"Connected", "Admitted", "Finished", "exact", "reliable"})
_ALARMING: Final = frozenset({"Lost", "Rejected", "wrong", "unreliable", "Inactive"})
_NAMESPACE: Final = TableColumn("NAMESPACE", lambda each: each["namespace"], priority=Priority.ESSENTIAL)
_NAME: Final = TableColumn("NAME", lambda each: each["name"], priority=Priority.ESSENTIAL)


def listing_of(subject: str, answer: Obj, *, has_namespaces: bool) -> TableView:
    """Return the list that an answer holds."""
    now, items = answer["now"], answer[subject]
    columns = _COLUMNS[subject](now)
    first = [_NAMESPACE] if has_namespaces and subject != "workers" else []
    return TableView(
        kind=_KINDS[subject],
        items=items,
        columns=[*first, *columns],
        name=_worker_name if subject == "workers" else workload_name,
        empty=_EMPTY[subject],
        more={"source": answer["source"], "asOf": now},
        key=lambda each: (each.get("namespace"), each["name"], each.get("worker")),
        gone=_GONE[subject],
    )


def workload_name(item: Obj) -> str:
    """Return how kubectl names a Workload."""
    return f"workload.{KUEUE_GROUP}/{item['name']}"


def flavors_cell(flavors: Mapping[str, Sequence[str]]) -> str:
    """Return the flavors of each resource as one cell of a table."""
    return ",".join(f"{resource}={name}" for resource, names in flavors.items() for name in names) or "-"


def _worker_name(item: Obj) -> str:
    return f"multikueuecluster.{KUEUE_GROUP}/{item['name']}"


def _workers(now: str) -> list[TableColumn]:
    return [
        _NAME,
        TableColumn("CONNECTION", connection_cell, tone=_tone("connection"), priority=Priority.ESSENTIAL),
        TableColumn(
            "GATES", lambda each: gates_cell(each.get("gates")), tone=lambda each: gates_tone(each.get("gates"))
        ),
        TableColumn("KUEUE", _kueue, is_wide=True),
        TableColumn("REPLICAS", _field("replicas"), priority=Priority.EXTRA),
        TableColumn("FORECASTS", _field("forecast"), tone=_tone("forecast")),
        TableColumn(
            "EXACT", lambda each: "-" if each["hitRate"] is None else f"{each['hitRate']}%", priority=Priority.EXTRA
        ),
        TableColumn("PODS", lambda each: each.get("podForecast") or "off", is_wide=True),
        TableColumn("LOST", lambda each: age(each["lostSince"], now), is_wide=True),
        TableColumn("SKEW", _skew, is_wide=True),
        TableColumn("WORKLOADS", _field("workloads"), is_wide=True),
        TableColumn("MESSAGE", _worker_message, priority=Priority.ESSENTIAL),
    ]


def connection_cell(each: Obj) -> str:
    """Say whether a worker is connected, and that it is out of service."""
    return f"{each['connection']}{', cordoned' if each.get('cordoned') else ''}"


def _worker_message(each: Obj) -> str:
    """Say what is unusual about a worker; that there are no forecasts of one that is lost is not."""
    problems = (("no forecasts", each["forecastProblem"]), ("no pod forecasts", each["podForecastProblem"]))
    told = [] if each["message"] == each["connection"] else [each["message"]]
    if each["connection"] != "Lost":
        told += [f"{what}: {why}" for what, why in problems if why]
    return "; ".join(told).removeprefix(f"cluster {each['name']}: ") or "-"


def _kueue(each: Obj) -> str:
    """Return the version of a worker's Kueue, and what told it."""
    kueue = each.get("kueue")
    return f"{kueue['version']} ({kueue['source']})" if kueue else "-"


def _skew(each: Obj) -> str:
    return "-" if each["clockSkewSeconds"] is None else f"{each['clockSkewSeconds']:+g}s"


def _workloads(now: str) -> list[TableColumn]:
    return [
        _NAME,
        TableColumn("PHASE", _field("phase"), tone=_tone("phase"), priority=Priority.ESSENTIAL),
        TableColumn("CLUSTER", _field("cluster")),
        TableColumn("GATE", _field("gate"), priority=Priority.ESSENTIAL),
        TableColumn("AGE", lambda each: age(each["created"], now)),
        TableColumn("OWNER", _field("owner"), is_wide=True),
        TableColumn("QUEUE", _field("queue"), is_wide=True),
        TableColumn("CLUSTERQUEUE", _field("clusterQueue"), is_wide=True),
        TableColumn("NOMINATED", lambda each: ",".join(each["nominated"]) or "-", is_wide=True),
        TableColumn("FORECAST", _field("forecast"), is_wide=True, tone=_tone("forecast")),
        TableColumn("MESSAGE", _field("message"), priority=Priority.ESSENTIAL),
    ]


def _gates(now: str) -> list[TableColumn]:
    return [
        _NAME,
        TableColumn("WORKER", _field("worker"), priority=Priority.ESSENTIAL),
        TableColumn(
            "GATE",
            _field("gate"),
            tone=lambda each: Tone.STRONG if each["gate"] == "Open" else None,
            priority=Priority.ESSENTIAL,
        ),
        TableColumn("ASKED", lambda each: age(each["asksSince"], now)),
        TableColumn("OPENED", lambda each: age(each["opened"], now)),
        TableColumn("WINDOW ENDS", lambda each: until(each["windowEnds"], now)),
    ]


def _forecasts(now: str) -> list[TableColumn]:
    return [
        _NAME,
        TableColumn("WORKER", _field("worker"), priority=Priority.ESSENTIAL),
        TableColumn("VERDICT", _field("verdict"), priority=Priority.ESSENTIAL),
        TableColumn("VICTIMS", lambda each: each["cost"]["victims"], priority=Priority.EXTRA),
        TableColumn("RESULT", _field("result"), tone=_tone("result"), priority=Priority.ESSENTIAL),
        TableColumn("OPENED", lambda each: age(each["opened"], now)),
        TableColumn("PODS", lambda each: each["cost"]["pods"], is_wide=True),
        TableColumn("FLAVORS", lambda each: flavors_cell(each["flavors"]), is_wide=True),
        TableColumn(
            "MESSAGE", lambda each: each["resultMessage"] or each["message"] or "-", priority=Priority.ESSENTIAL
        ),
    ]


_COLUMNS: Final = {"workers": _workers, "workloads": _workloads, "gates": _gates, "forecasts": _forecasts}
_KINDS: Final = {
    "workers": "WorkerList",
    "workloads": "WorkloadList",
    "gates": "GateList",
    "forecasts": "ForecastList",
}
_GONE: Final[dict[str, Callable[[Obj], str]]] = {
    "workers": lambda each: f"{_worker_name(each)} gone",
    "workloads": lambda each: f"{workload_name(each)} of {each['namespace']} finished or gone",
    "gates": lambda each: f"the gate of {workload_name(each)} of {each['namespace']} on {each['worker']} gone",
    "forecasts": lambda each: f"the forecast of {workload_name(each)} of {each['namespace']} gone",
}
_EMPTY: Final = {
    "workers": "there are no workers: no MultiKueueConfig of Turnstile's admission checks names one",
    "workloads": "no Workload with one of Turnstile's admission checks is waiting or running here",
    "gates": "no Workload has a gate here",
    "forecasts": "no gate was opened by a forecast here",
}


def _field(name: str) -> Callable[[Obj], Any]:
    return lambda each: "-" if each[name] in ("", None) else each[name]


def _tone(name: str) -> Callable[[Obj], Tone | None]:
    def tone(each: Obj) -> Tone | None:
        return Tone.GOOD if each[name] in _CALM else Tone.BAD if each[name] in _ALARMING else None

    return tone
