"""Log lines for clusters that come and go: one for each change, at warning with the error when one is lost."""

from manager.logging.logs import get_log
from workerclient.objects.connection_report import CLOSED, ConnectionReport, ConnectionState


class ConnectionLog:
    """Remembers what was logged last about each cluster; later reasons of the same loss are not repeated."""

    def __init__(self) -> None:
        self._hub = ConnectionState.CONNECTING
        self._workers: dict[str, ConnectionState] = {}

    def note_hub(self, report: ConnectionReport) -> None:
        """Take note of a report about the hub."""
        if not _is_news(self._hub, report):
            return
        self._hub = report.connection
        if report.connection is ConnectionState.CONNECTED:
            get_log().info("hub.connected", message=report.message)
        elif report.connection is ConnectionState.LOST:
            get_log().warning("hub.lost", error=report.message)

    def note_worker(self, name: str, report: ConnectionReport | None) -> None:
        """Take note of a report about a worker; None for one that was removed."""
        if report is None:
            self._workers.pop(name, None)
            return
        if not _is_news(self._workers.get(name, ConnectionState.CONNECTING), report):
            return
        self._workers[name] = report.connection
        if report.connection is ConnectionState.CONNECTED:
            get_log().info("worker.connected", worker=name, message=report.message)
        elif report.connection is ConnectionState.LOST:
            get_log().warning("worker.lost", worker=name, error=report.message)


def _is_news(logged: ConnectionState, report: ConnectionReport) -> bool:
    """Tell whether a connection changed; one that this process closed itself, at its end, did not."""
    return report.connection is not logged and not (
        report.connection is ConnectionState.LOST and report.message == CLOSED
    )
