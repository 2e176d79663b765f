"""What of a round is compared."""

from tests.realbed.cycles.comparison import facts
from tests.support.builders import WorkloadBuilder, workload

_FOR_WHOM = "Preempted to accommodate a workload"
_MISSING = "insufficient unused quota"


def _waiting(name: str, message: str) -> WorkloadBuilder:
    builder = workload(name).queue("a").request(cpu=1)
    builder.raw["spec"]["podSets"][0]["template"]["metadata"] = {"labels": {"batch.kubernetes.io/job-name": name}}
    for kind, status, said in (("QuotaReserved", "False", message), ("Evicted", "True", _FOR_WHOM)):
        builder = builder.condition(kind, status)
        builder.raw["status"]["conditions"][-1]["message"] = said
    return builder


def _says(*builders: WorkloadBuilder) -> dict[str, str]:
    told = facts([builder.raw for builder in builders])
    return {name: each["conditions"]["QuotaReserved"][2] for name, each in told.items()}


def test_an_equal_that_was_parked_untried_says_what_the_tried_one_says() -> None:
    untried = _waiting("untried", _FOR_WHOM)
    assert _says(_waiting("tried", _MISSING), untried) == {"tried": _MISSING, "untried": _MISSING}


def test_others_say_what_they_say() -> None:
    bigger = _waiting("bigger", _FOR_WHOM).request(cpu=2)
    elsewhere = _waiting("elsewhere", _FOR_WHOM).queue("b")
    said = _says(_waiting("tried", _MISSING), bigger, elsewhere)
    assert said == {"tried": _MISSING, "bigger": _FOR_WHOM, "elsewhere": _FOR_WHOM}
