"""What a service's loop says of failures of tasks that are not awaited."""

import asyncio
import gc
import io
import json
from collections.abc import Coroutine
from typing import Any

from config.sections.process import Logging
from manager.logging.logs import configure_logging
from manager.process.event_loop import new_loop


def lines_of(work: Coroutine[Any, Any, None]) -> list[dict[str, Any]]:
    log = io.StringIO()
    configure_logging(Logging(), log)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(work)
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_a_connection_that_breaks_while_it_is_closed_is_told_without_a_traceback() -> None:
    async def work() -> None:
        error = RuntimeError("unable to perform operation; the handler is closed")
        asyncio.get_running_loop().call_exception_handler(
            {"message": "Fatal error on SSL protocol", "exception": error, "transport": object(), "protocol": object()}
        )

    (line,) = lines_of(work())
    assert (line["event"], line["level"]) == ("connection.broken", "warning")
    assert line["problem"] == "Fatal error on SSL protocol"
    assert line["error"] == "unable to perform operation; the handler is closed"
    assert "exception" not in line


def test_a_task_that_is_not_awaited_fails_loudly() -> None:
    async def fail() -> None:
        raise ValueError("a bug")

    async def work() -> None:
        task = asyncio.create_task(fail())
        await asyncio.sleep(0)
        del task
        gc.collect()

    (line,) = lines_of(work())
    assert (line["event"], line["level"]) == ("loop.failed", "error")
    assert line["problem"] == "Task exception was never retrieved"
    assert "ValueError: a bug" in line["exception"]
