"""The panels of the live view as tables: which columns fit, and what is in them.

Pure: an answer of the daemon, the moment and a width in, rows out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj, format_time, parse_time
from config.types.syntax import printable
from manager.cli.ask.gate_support import gates_cell, gates_tone
from manager.cli.ask.listings import connection_cell
from manager.cli.conventions.ages import age
from manager.cli.conventions.terminal import Tone
from manager.cli.top.cells import TopCell, cut, lane_cell, lanes_cell, plain, quota_segment, quota_tone, short_resource

WORKERS: Final = "workers"
WORKLOADS: Final = "workloads"
DECISIONS: Final = "decisions"
GAP: Final = 2
_WIDE: Final = 100
_LANE_WIDTH: Final = 12
_LEAST_LANES: Final = 12
_ROLE: Final = "turnstile-worker-forecasts"
_STATES: Final = {"Connected": Tone.GOOD, "Lost": Tone.BAD, "Refused": Tone.BAD}
_PHASES: Final = {"Admitted": Tone.GOOD, "Rejected": Tone.BAD, "Retry": Tone.DOUBTFUL}
_EVENTS: Final = {"GateOpened": Tone.STRONG, "Won": Tone.GOOD, "Ready": Tone.GOOD, "Rejected": Tone.BAD}
_FIRST_RESOURCES: Final = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class PanelColumn:
    """A column and its width."""

    head: str
    width: int


@dataclass(frozen=True, slots=True)
class PanelRow:
    """A row; `about` is what is said about it when it is selected."""

    key: tuple[str, str]
    """Namespace and name; a worker has no namespace."""
    cells: tuple[TopCell, ...]
    about: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One table, and what its title counts."""

    title: str
    columns: tuple[PanelColumn, ...]
    rows: tuple[PanelRow, ...]
    empty: str = ""
    """What is said where there are no rows."""


def panels_of(answer: Obj, now_ns: int, width: int, *, has_namespaces: bool) -> dict[str, Panel]:
    """Return all panels by name, from top to bottom."""
    return {
        WORKERS: workers_panel(answer, width),
        WORKLOADS: workloads_panel(answer, now_ns, width, has_namespaces=has_namespaces),
        DECISIONS: decisions_panel(answer, width, has_namespaces=has_namespaces),
    }


def workers_panel(answer: Obj, width: int) -> Panel:
    """Return the workers with their quota."""
    workers = answer["workers"]["items"]
    heads = ["NAME", "STATE", "GATES", *(["REPLICAS", "FORECASTS"] if width >= _WIDE else [])]
    first = [_worker_cells(worker)[: len(heads)] for worker in workers]
    widths = _widths(heads, first, most=18)
    left = width - sum(each + GAP for each in widths) - GAP
    quotas = _quota_cells(workers, left)
    rows = tuple(
        PanelRow(("", worker["name"]), (*cells, quota), _about_worker(worker))
        for worker, cells, quota in zip(workers, first, quotas, strict=True)
    )
    columns = [PanelColumn(head, each) for head, each in zip(heads, widths, strict=True)]
    columns.append(PanelColumn("QUOTA used/nominal", max(1, left)))
    more = answer["workers"]["more"]
    return Panel(
        f"Workers {len(workers)}{_and_more(more)}",
        tuple(columns),
        rows,
        "no MultiKueueConfig of Turnstile's checks names one",
    )


def workloads_panel(answer: Obj, now_ns: int, width: int, *, has_namespaces: bool) -> Panel:
    """Return the Workloads: with a lane for each worker where those fit, else with all lanes in one column."""
    found = answer["workloads"]
    items, now = found["items"], format_time(now_ns)
    heads = ["NAME", "PHASE", "AGE", *(["PRIORITY"] if width >= _WIDE else [])]
    first = [_workload_cells(each, now, has_namespaces=has_namespaces)[: len(heads)] for each in items]
    widths = _widths(heads, first, most=max(16, width // 4 + 1))
    left = width - sum(each + GAP for each in widths) - GAP
    lanes, cells = _lane_columns(items, now_ns, left)
    rows = tuple(
        PanelRow((each["namespace"], each["name"]), (*before, *after), printable(_about_workload(each)))
        for each, before, after in zip(items, first, cells, strict=True)
    )
    columns = [*(PanelColumn(head, each) for head, each in zip(heads, widths, strict=True)), *lanes]
    return Panel(
        f"Workloads {len(items):,}{_and_more(found['more'])}",
        tuple(columns),
        rows,
        "no Workload is waiting or running here",
    )


def decisions_panel(answer: Obj, width: int, *, has_namespaces: bool) -> Panel:
    """Return what was done last."""
    heads = ["TIME", "WORKLOAD", "EVENT", "WORKER"]
    items = answer["decisions"]["items"]
    first = [_decision_cells(each, has_namespaces=has_namespaces) for each in items]
    widths = _widths(heads, first, most=max(16, width // 4))
    left = max(1, width - sum(each + GAP for each in widths) - GAP)
    rows = tuple(
        PanelRow(
            (each["namespace"], each["name"]),
            (*cells, TopCell(cut(plain(each["message"]).text, left))),
            printable(f"{each['name']}: {each['event']} {each['worker']} {each['message']}"),
        )
        for each, cells in zip(items, first, strict=True)
    )
    columns = (
        *(PanelColumn(head, each) for head, each in zip(heads, widths, strict=True)),
        PanelColumn("MESSAGE", left),
    )
    return Panel("Last decisions", columns, rows, "nothing was decided since the daemon started")


def not_followed(quota: Obj) -> str:
    """Say why there are no numbers for a worker's quota, and what would change that."""
    match quota["state"]:
        case "Off":
            return "quota not followed: forecast.enabled is false"
        case "Forbidden":
            return f"quota not followed: needs ClusterRole {_ROLE} (deploy/rbac/worker-forecasts.yaml)"
        case _:
            return f"quota not followed: {printable(quota['message'])}"


def _tone_of(connection: str) -> Tone | None:
    return _STATES.get(connection, Tone.DOUBTFUL)


def _worker_cells(worker: Obj) -> list[TopCell]:
    gates = worker.get("gates")
    exact = f" {worker['hitRate']}%" if worker["hitRate"] is not None else ""
    return [
        plain(worker["name"]),
        plain(connection_cell(worker), Tone.DOUBTFUL if worker.get("cordoned") else _tone_of(worker["connection"])),
        TopCell(gates_cell(gates), gates_tone(gates)),
        plain("-" if worker["replicas"] is None else worker["replicas"]),
        plain(f"{worker['forecast']}{exact}", Tone.BAD if worker["forecast"] == "unreliable" else None),
    ]


def _about_worker(worker: Obj) -> str:
    quota = worker.get("quota")
    reasons = [worker["message"]] if worker["message"] != worker["connection"] else []
    reasons += [not_followed(quota)] if quota is not None and quota["state"] != "Followed" else []
    return printable("; ".join(reason for reason in reasons if reason))


def _quota_cells(workers: Sequence[Obj], width: int) -> list[TopCell]:
    """Draw the same resources in the same place for every worker, as many as fit."""
    known = [
        {each["resource"]: each for each in (worker.get("quota") or {}).get("resources", ())} for worker in workers
    ]
    widths: list[tuple[str, int]] = []
    for resource in _resources(known):
        wanted = max(len(quota_segment(each[resource])) for each in known if resource in each)
        if sum(used + GAP for _, used in widths) + wanted > width - 3:
            break
        widths.append((resource, wanted))
    return [_quota_cell(worker, each, widths, width) for worker, each in zip(workers, known, strict=True)]


def _quota_cell(worker: Obj, known: dict[str, Obj], widths: Sequence[tuple[str, int]], width: int) -> TopCell:
    quota = worker.get("quota")
    if quota is None:
        return TopCell("-")
    if quota["state"] != "Followed":
        return TopCell(cut(not_followed(quota), width), Tone.DOUBTFUL)
    parts = [quota_segment(known[name]).ljust(size) if name in known else " " * size for name, size in widths]
    left = len(known) - len(widths)
    text = (" " * GAP).join([*parts, *([f"+{left}"] if left > 0 else [])]).rstrip()
    return TopCell(text or "no quota", quota_tone([each["share"] for each in known.values()]))


def _resources(known: Sequence[dict[str, Obj]]) -> list[str]:
    names = {name for each in known for name in each}
    return sorted(names, key=lambda name: (name not in _FIRST_RESOURCES, short_resource(name), name))


def _workload_cells(each: Obj, now: str, *, has_namespaces: bool) -> list[TopCell]:
    created = age(each["created"], now) if each["created"] else "-"
    return [
        _named(each, has_namespaces=has_namespaces),
        plain(each["phase"], _PHASES.get(each["phase"])),
        TopCell(created),
        plain(each.get("priority")),
    ]


def _lane_columns(items: Sequence[Obj], now_ns: int, width: int) -> tuple[list[PanelColumn], list[list[TopCell]]]:
    names = list(dict.fromkeys(lane["worker"] for each in items for lane in each.get("lanes") or ()))
    has_more = any(each.get("moreLanes") for each in items)
    if names and not has_more and len(names) * (_LANE_WIDTH + GAP) <= width + GAP:
        columns = [PanelColumn(cut(printable(name), _LANE_WIDTH), _LANE_WIDTH) for name in names]
        return columns, [_lanes_of(each, names, now_ns) for each in items]
    size = max(_LEAST_LANES, width)
    cells = [[_all_lanes(each, now_ns, size)] for each in items]
    return [PanelColumn("LANES", size)], cells


def _lanes_of(each: Obj, names: Sequence[str], now_ns: int) -> list[TopCell]:
    known = {lane["worker"]: lane_cell(lane, now_ns) for lane in each["lanes"]}
    return [known.get(name, TopCell("")) for name in names]


def _all_lanes(each: Obj, now_ns: int, width: int) -> TopCell:
    if each.get("lanes") is None:
        return TopCell(cut(plain(each["message"]).text, width))
    cell = lanes_cell(each["lanes"], each["moreLanes"], now_ns, width)
    return TopCell(cut(cell.text, width), cell.tone)


def _about_workload(each: Obj) -> str:
    said = each["message"] or f"{each['phase']} in LocalQueue {each['queue']}"
    return f"{each['name']}: {said}"


def _decision_cells(each: Obj, *, has_namespaces: bool) -> list[TopCell]:
    return [
        TopCell(format_time(parse_time(each["time"]))[11:19]),
        _named(each, has_namespaces=has_namespaces),
        plain(each["event"], _EVENTS.get(each["event"])),
        plain(each["worker"]),
    ]


def _named(each: Obj, *, has_namespaces: bool) -> TopCell:
    return plain(f"{each['namespace']}/{each['name']}" if has_namespaces else each["name"])


def _widths(heads: Sequence[str], rows: Sequence[Sequence[TopCell]], most: int) -> list[int]:
    """Give each column what its longest cell needs, within a limit."""
    return [
        min(most, max([len(head), *(len(cells[place].text) for cells in rows)])) for place, head in enumerate(heads)
    ]


def _and_more(count: int | None) -> str:
    return f", and {count:,} more" if count else ""
