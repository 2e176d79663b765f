"""Asks a daemon what the live view shows: one request for the whole fleet, also of a daemon that is older than this."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from config.api.meta import Obj
from config.types.syntax import printable
from manager.cli.ask.explain import report_of
from manager.cli.ask.timeline import timeline_listing
from manager.cli.conventions.daemon import DaemonClient
from manager.cli.conventions.errors import BadInputError, CommandError, NoAnswerError
from manager.cli.conventions.options import Form
from manager.cli.conventions.output import TableColumn, rendered, table
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.top.cells import bar
from manager.cli.top.head import check_answer

ORDERS: Final = ("queue", "age", "name")
_SHOWN: Final = 100
_TIMELINE_EVERY: Final = 10
"""How many explanations are asked for between two timelines, for which the daemon reads its journal."""
_UNCUT: Final = TerminalScreen()
_OLDER: Final = "an older daemon: it tells no quota, lanes, order or decisions"


@dataclass(frozen=True, slots=True)
class FleetQuestion:
    """Which Workloads are wanted first."""

    contains: str = ""
    order: str = ORDERS[0]


@dataclass(frozen=True, slots=True)
class FleetAnswer:
    """What the daemon said, in the form of `/v1/top`."""

    document: Obj
    remark: str = ""
    """What is missing in it, and why."""


class TopSource:
    """A daemon that is asked again and again; the connection is set up anew after a failure, as tokens expire."""

    def __init__(self, connect: Callable[[], DaemonClient], namespace: str | None) -> None:
        self.namespace = namespace
        self._connect = connect
        self._client: DaemonClient | None = None
        self._older: Obj | None = None
        """What an older daemon said about itself; None as long as it answers everything."""

    def fleet(self, question: FleetQuestion) -> FleetAnswer:
        """Return the whole view, which can be drawn; raises `CommandError`."""
        with _understood():
            answer = self._fleet(question)
            check_answer(answer.document)
            return answer

    def _fleet(self, question: FleetQuestion) -> FleetAnswer:
        if self._older is None:
            query = {"contains": question.contains, "order": question.order, "limit": str(_SHOWN)}
            try:
                return FleetAnswer(self._ask("top", query=self._in_namespace(query)))
            except BadInputError:  # it does not know this question
                self._older = self._ask("overview")["daemon"]
        return FleetAnswer(self._of_older(self._older, question), _OLDER)

    def workload(self, namespace: str, name: str) -> Callable[[], list[str]]:
        """Return what tells everything about a Workload whenever it is called."""
        timeline: list[str] = []
        asked = 0

        def tell() -> list[str]:
            nonlocal timeline, asked
            with _understood():
                explained = report_of({"source": "daemon", **self._ask("workloads", namespace, name, "explanation")})
                if asked % _TIMELINE_EVERY == 0:
                    timeline = self._timeline(namespace, name)
                asked += 1
                return [*rendered(explained, Form.TABLE, _UNCUT), "", *timeline]

        return tell

    def worker(self, name: str) -> Callable[[], list[str]]:
        """Return what tells the quota of each ClusterQueue of a worker whenever it is called."""

        def tell() -> list[str]:
            with _understood():
                found = self._ask("workers", name, "quota")
                rest = ["", "showing only the first ClusterQueues"] if found["continue"] else []
                rows = table(_QUOTA, found["quota"], _UNCUT) if found["quota"] else ["its quota is not followed"]
                return [printable(f"Worker {name}"), "", *rows, *rest]

        return tell

    def _timeline(self, namespace: str, name: str) -> list[str]:
        try:
            found = self._ask("workloads", namespace, name, "timeline")
        except CommandError as error:
            return [printable(str(error))]
        problem = found["journalProblem"]
        remark = [f"showing only what the hub's object says: {printable(problem)}"] if problem else []
        return [*rendered(timeline_listing({"source": "daemon", **found}), Form.TABLE, _UNCUT), *remark]

    def _of_older(self, daemon: Obj, question: FleetQuestion) -> Obj:
        workers = self._ask("workers", query={"limit": str(_SHOWN)})
        page = self._ask("workloads", query=self._in_namespace({"limit": str(_SHOWN)}))
        named = (each for each in page["workloads"] if question.contains in f"{each['namespace']}/{each['name']}")
        return {
            "now": page["now"],
            "daemon": {**daemon, "leader": "", "isShadow": False, "policy": ""},
            "workers": {"items": workers["workers"], "more": 0},
            "workloads": {"items": list(named), "more": 0, "phases": {}, "order": "name"},
            "decisions": {"items": []},
        }

    def _in_namespace(self, query: dict[str, str]) -> dict[str, str]:
        given = {**query, "namespace": self.namespace or ""}
        return {name: value for name, value in given.items() if value}

    def _ask(self, *path: str, query: dict[str, str] | None = None) -> Obj:
        client, self._client = self._client or self._connected(), None
        answer: Obj = client.ask(*path, query=query)
        self._client = client
        return answer

    def _connected(self) -> DaemonClient:
        self._older = None  # it may have been upgraded meanwhile
        return replace(self._connect(), tries=1)


@contextmanager
def _understood() -> Iterator[None]:
    """Turn what an answer of an unknown form leads to into one sentence."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        problem = f"the daemon's answer is not understood ({type(error).__name__})"
        raise NoAnswerError(f"{problem}; is it another version?") from error


def _amounts(each: Obj) -> str:
    return f"{each['used']}/{each['nominal']}"


_QUOTA: Final[Sequence[TableColumn]] = (
    TableColumn("CLUSTERQUEUE", lambda each: each["clusterQueue"]),
    TableColumn("COHORT", lambda each: each["cohort"] or "-"),
    TableColumn("ACTIVE", lambda each: "yes" if each["active"] else "no"),
    TableColumn("RESOURCE", lambda each: each["resource"]),
    TableColumn("FLAVOR", lambda each: each["flavor"]),
    TableColumn("USED", lambda each: bar(each["share"])),
    TableColumn("USED/NOMINAL", _amounts),
)
