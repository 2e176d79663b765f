"""Our kinds give the answers that kube-apiserver v1.36.3 with Kueue v0.19.1's definitions and webhooks gave.

The recording holds the write, and what the real server said: each error with its reason, field and message.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.localcluster.writing import find_kind, write

RECORDING = Path(__file__).parent / "recorded" / "answers.jsonl"
ANSWERS = [json.loads(line) for line in RECORDING.read_text().splitlines()]

FLOAT = "the real server reports a fraction twice, once without a field"
ANY_OF = "the real server adds what its anyOf makes of a wrong type"
EVALUATION = "the real rule stumbles over a missing field and reports the stumble; ours reports the rule"
FIELD_ORDER = "the real webhook prints a Go struct, in the order of its fields and with empty ones"
POINTER = "the real webhook prints the address of a number in place of the number"
STATUS_PATH = "in a write of /status the real server names the field once without its first step"
KNOWN_DIFFERENCES = {
    "Workload float for int": FLOAT,
    "Workload quantity bool": ANY_OF,
    "ResourceFlavor tol": EVALUATION,
    "ResourceFlavor tol4": EVALUATION,
    "ResourceFlavor topo": EVALUATION,
    "ResourceFlavor taint dup": FIELD_ORDER,
    "Workload psa not multiple": POINTER,
    "Workload podsets grow": FIELD_ORDER,
    "Workload admission change": FIELD_ORDER,
    "Workload check state": STATUS_PATH,
    "Workload cond reason": STATUS_PATH,
    "Workload cond long": STATUS_PATH,
    "Workload stat pat": STATUS_PATH,
    "Workload type": STATUS_PATH,
    "PodDisruptionBudget both": FIELD_ORDER,
}

Answer = dict[str, Any]


def our_answer(recorded: Answer) -> tuple[str | None, list[tuple[str, str, str]]]:
    group, version, name = recorded["kind"]
    outcome = write(
        find_kind(name, group, version),
        recorded["object"],
        recorded.get("stored"),
        status=recorded["write"] == "status",
    )
    return outcome.denial, sorted({(error.cause.value, error.field, error.message) for error in outcome.errors})


def real_answer(recorded: Answer) -> tuple[str | None, list[tuple[str, str, str]]]:
    errors = {(error["reason"], error["field"], error["message"]) for error in recorded.get("errors", ())}
    return recorded.get("denial"), sorted(errors)


@pytest.mark.parametrize("recorded", ANSWERS, ids=[answer["case"] for answer in ANSWERS])
def test_we_answer_as_the_real_server_did(recorded: Answer) -> None:
    same = our_answer(recorded) == real_answer(recorded)

    if recorded["case"] in KNOWN_DIFFERENCES:
        assert not same, f"no longer different: {KNOWN_DIFFERENCES[recorded['case']]}"
    else:
        assert our_answer(recorded) == real_answer(recorded)


def test_a_known_difference_is_about_wording_alone() -> None:
    """Whatever the words, a write that the real server refuses is refused, and about the same field."""
    for recorded in ANSWERS:
        if recorded["case"] in KNOWN_DIFFERENCES:
            denial, errors = our_answer(recorded)
            real_denial, real_errors = real_answer(recorded)
            assert (denial is None) == (real_denial is None), recorded["case"]
            assert {field for _, field, _ in errors} >= {field for _, field, _ in real_errors if field != "<nil>"}
