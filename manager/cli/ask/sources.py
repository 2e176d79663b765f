"""Asks the daemon, or the hub in its place, always in the same words: both answer with the same documents."""

from config.api.meta import Obj
from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.hub import hub_access
from manager.cli.conventions.options import DaemonOptions
from manager.cli.conventions.subjects import WORKLOAD, CommandSubject


class AnswerSource:
    """The daemon or the hub, whichever answered first; it answers the other questions too."""

    def __init__(self, connection: DaemonOptions) -> None:
        from manager.cli.conventions.daemon import daemon_of

        self._connection = connection
        self._daemon = daemon_of(connection)
        self._is_hub = False
        self._was_heard = False

    def ask(self, *path: str, namespace: str | None = None, finished: bool = False) -> Obj:
        """Return an answer, about finished Workloads too if that is asked for; raises `CommandError`."""
        from manager.cli.conventions.daemon import NoDaemonError
        from manager.cli.conventions.sources import hub_instead, read_cluster

        if not self._is_hub:
            try:
                query = ({"namespace": namespace} if namespace else {}) | ({"finished": "true"} if finished else {})
                answer = self._answer(path, query or None)
            except NoDaemonError as error:
                if self._was_heard:
                    raise
                hub_instead(self._connection, error)
                self._is_hub = True
            else:
                self._was_heard = True
                return {"source": "daemon", **answer}
        from manager.cli.conventions.hub_view import hub_answer

        return read_cluster(
            "hub",
            hub_access(self._connection),
            lambda client: hub_answer(client, path, namespace, finished=finished),
        )

    def _answer(self, path: tuple[str, ...], query: dict[str, str] | None) -> Obj:
        is_list = path in (("workers",), ("workloads",), ("gates",), ("forecasts",))
        found: Obj = self._daemon.ask_for_all(path[0], query) if is_list else self._daemon.ask(*path, query=query)
        return found

    def workload_of(self, subject: CommandSubject) -> tuple[str, str]:
        """Return namespace and name of the Workload that is meant; raises `BadInputError`."""
        if subject.kind == WORKLOAD:
            return subject.namespace, subject.name
        names = self.ask("jobs", subject.kind, subject.namespace, subject.name)["workloads"]
        if not names:
            raise BadInputError(
                f"there is no Workload of {subject} on the hub; does the job exist, and does it have a queue?"
            )
        if len(names) > 1:
            raise BadInputError(f"{subject} has several Workloads; give one of them: {', '.join(names)}")
        return subject.namespace, names[0]
