"""A check's own preemption timeout: what is taken, and what is refused in words."""

import pytest

from config.api.identifiers import WorkerName
from config.types.duration import NOT_A_DURATION
from gates.model.activity import CheckRecord, ConfigRecord, Health, check_health, check_record
from gates.model.marks import PREEMPTION_TIMEOUT
from gates.model.settings import MINUTE, SECOND, Settings
from gates.model.timeouts import with_timeout

ALLOWED = 'expected a duration of at least 1s (for example "5m")'
UNIT = f"; it {NOT_A_DURATION}"


def check(timeout: str | None) -> CheckRecord:
    annotations = {} if timeout is None else {PREEMPTION_TIMEOUT: timeout}
    metadata = {"name": "mk", "uid": "u", "resourceVersion": "1", "annotations": annotations}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "conf"}
    return check_record({"metadata": metadata, "spec": {"controllerName": "c", "parameters": parameters}})


@pytest.mark.parametrize(
    ("timeout", "want_ns", "want_remark"),
    [
        pytest.param(None, 5 * MINUTE, "", id="none: the configured one"),
        pytest.param("2m", 2 * MINUTE, "", id="its own"),
        pytest.param("120s", 120 * SECOND, "", id="two minutes are long enough"),
        pytest.param(
            "119s",
            119 * SECOND,
            "; its preemption timeout of 1m59s is short: victims rarely end within it",
            id="short: taken with a warning",
        ),
        *(
            pytest.param(
                bad,
                5 * MINUTE,
                f"; annotation {PREEMPTION_TIMEOUT} is {bad!r}: {ALLOWED}{why}; the configured timeout is used",
                id=f"refused: {bad!r}",
            )
            for bad, why in (("0", ""), ("-5m", ""), ("999ms", ""), ("soon", UNIT), ("", UNIT), ("300", UNIT))
        ),
    ],
)
def test_92_a_checks_own_timeout(timeout: str | None, want_ns: int, want_remark: str) -> None:
    found = check(timeout)
    up = Health(is_active=True, reason="Active", message="Connected")
    assert with_timeout(Settings(), found.timeout).timeout_ns == want_ns
    health = check_health(found, ConfigRecord("conf", (WorkerName("a"),)), {WorkerName("a"): up})
    assert health == Health(is_active=True, reason="Active", message=f"The admission check is active{want_remark}")
