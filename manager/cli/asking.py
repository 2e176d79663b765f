"""Asks the daemon, or the hub in its place, always in the same words: both answer with the same documents."""

from typing import Any

from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.hub import hub_access
from manager.cli.conventions.options import Connection
from manager.cli.conventions.subjects import WORKLOAD, Subject

Obj = dict[str, Any]


class Source:
    """Whoever answered the first question answers the others too."""

    def __init__(self, connection: Connection) -> None:
        from manager.cli.conventions.daemon import daemon_of

        self._connection = connection
        self._daemon = daemon_of(connection)
        self._is_hub = False
        self._was_heard = False

    def ask(self, *path: str, namespace: str | None = None) -> Obj:
        """Return an answer; raises `CommandError`."""
        from manager.cli.conventions.daemon import NoDaemonError
        from manager.cli.conventions.sources import hub_instead, read_cluster

        if not self._is_hub:
            try:
                answer: Obj = self._daemon.ask(*path, query={"namespace": namespace} if namespace else None)
            except NoDaemonError as error:
                if self._was_heard:
                    raise
                hub_instead(self._connection, error)
                self._is_hub = True
            else:
                self._was_heard = True
                return {"source": "daemon", **answer}
        from manager.cli.hubview import hub_answer

        return read_cluster("hub", hub_access(self._connection), lambda client: hub_answer(client, path, namespace))

    def workload_of(self, subject: Subject) -> tuple[str, str]:
        """Return namespace and name of the Workload that is meant; raises `BadInputError`."""
        if subject.kind == WORKLOAD:
            return subject.namespace, subject.name
        names = self.ask("jobs", subject.kind, subject.namespace, subject.name)["workloads"]
        if not names:
            raise BadInputError(f"there is no Workload of {subject} on the hub; is the job there, and has it a queue?")
        if len(names) > 1:
            raise BadInputError(f"{subject} has several Workloads; name one of them: {', '.join(names)}")
        return subject.namespace, names[0]
