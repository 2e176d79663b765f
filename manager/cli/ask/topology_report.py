"""The screen of `turnstile status topology`."""

from typing import Final

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.conventions.output import Report, TableColumn, table
from manager.cli.conventions.terminal import TerminalScreen, Tone
from manager.cli.display.fitting import Priority

_SELDOM_SCARCE: Final = frozenset({"ephemeral-storage", "pods"})


def topology_report(answer: Obj) -> Report:
    """Return the topologies of a worker as the result of a command."""
    body = {"source": answer["source"], "asOf": answer["now"]}
    body |= {key: value for key, value in answer.items() if key not in ("source", "now")}
    state = {key: value for key, value in body.items() if key != "asOf"}
    return Report("WorkerTopology", body, lambda screen, wide: _lines(body, screen, is_wide=wide), [], state)


def _lines(body: Obj, screen: TerminalScreen, *, is_wide: bool) -> list[str]:
    if body["problem"]:
        return [printable(f"worker {body['worker']}: {body['problem']}")]
    if not body["flavors"]:
        return [printable(f"worker {body['worker']} has no flavor with a topology")]
    lines: list[str] = []
    for flavor in body["flavors"]:
        levels = " > ".join(flavor["levels"])
        head = f"flavor {flavor['flavor']}, topology {flavor['topology']}: {levels}"
        lines += [""] * bool(lines) + [screen.paint(printable(head), Tone.STRONG)]
        lines += table(_COLUMNS, flavor["domains"], screen, is_wide=is_wide)
        if flavor["leftOut"]:
            lines.append(f"{flavor['leftOut']} more domains are not listed")
    return lines


def _free(domain: Obj, *, everything: bool) -> str:
    """Say what is free of what there is."""
    capacity = domain["capacity"]
    shown = [name for name in capacity if everything or not (name in _SELDOM_SCARCE or name.startswith("hugepages-"))]
    return ", ".join(f"{name} {domain['free'].get(name, '0')}/{capacity[name]}" for name in shown) or "-"


def _amounts(amounts: Obj) -> str:
    shown = {name: amount for name, amount in amounts.items() if amount != "0"}
    return ", ".join(f"{name} {amount}" for name, amount in shown.items()) or "-"


_COLUMNS: Final = (
    TableColumn("DOMAIN", lambda each: each["domain"], priority=Priority.ESSENTIAL),
    TableColumn("LEVEL", lambda each: each["level"], priority=Priority.EXTRA),
    TableColumn("NODES", lambda each: each["nodes"]),
    TableColumn("FREE", lambda each: _free(each, everything=False), priority=Priority.ESSENTIAL),
    TableColumn("USED", lambda each: _amounts(each["used"])),
    TableColumn("OTHER PODS", lambda each: _amounts(each["other"])),
    TableColumn("ALL FREE", lambda each: _free(each, everything=True), is_wide=True),
)
