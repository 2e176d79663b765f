"""A worker that answers with nonsense is a finding of its own, and hides nothing of the others."""

from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from gates.diagnosis.objects import queue_missing
from localcluster.serving.faults import RawAnswer
from manager.planning.listed import NO_DESCRIPTION
from tests.integration.doctor.command import doctor
from tests.integration.doctor.wards import examined, ward
from tests.integration.orchestrator.kueue import KUEUE
from tests.support.odd_answers import ODD_ANSWERS, ODD_DOCUMENTS, OPENAPI, document

MISSING_QUEUE = queue_missing(ObjectKey("team", "main"))


def queues(*items: object) -> bytes:
    head = {"apiVersion": f"{KUEUE}/v1beta2", "kind": "LocalQueueList", "metadata": {"resourceVersion": "1"}}
    return document({**head, "items": list(items)})


METADATA = {"name": "main", "namespace": "team", "uid": "u", "resourceVersion": "1"}
NO_NAMESPACE = {name: value for name, value in METADATA.items() if name != "namespace"}
ODD_QUEUES = {
    "a queue without a namespace": queues({"metadata": NO_NAMESPACE}),
    "conditions that are a string": queues({"metadata": METADATA, "status": {"conditions": "all well"}}),
    "a status that is a list": queues({"metadata": METADATA, "status": [1]}),
}


@pytest.mark.parametrize("path", ["", OPENAPI], ids=["everything", "its description"])
@pytest.mark.parametrize("odd", ODD_ANSWERS.values(), ids=ODD_ANSWERS.keys())
async def test_S6_an_odd_worker_hides_no_other(tmp_path: Path, odd: bytes, path: str) -> None:
    async with ward(tmp_path, "w1", "w2", "w3") as made:
        made["w1"].delete("localqueues", "main", KUEUE)
        made["w2"].local.faults.add(RawAnswer(odd), path=path)
        found = await examined(made)
        assert found.clusters == ("hub", "w1", "w2", "w3")
        assert [each.message for each in found.findings if each.cluster == "w1"] == [MISSING_QUEUE]
        assert {each.cluster for each in found.findings} == {"w1", "w2"}


@pytest.mark.parametrize("odd", ODD_QUEUES.values(), ids=ODD_QUEUES.keys())
async def test_S6_an_odd_object_is_one_finding(tmp_path: Path, odd: bytes) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        made["w2"].local.faults.add(RawAnswer(odd), verb="list", plural="localqueues")
        (finding,) = (await examined(made)).findings
        assert (finding.cluster, finding.topic) == ("w2", "answers")
        assert finding.message.startswith("cannot be understood: ")


@pytest.mark.parametrize("content", ODD_DOCUMENTS.values(), ids=ODD_DOCUMENTS.keys())
async def test_S6_the_command_says_so_and_exits_as_with_any_error(tmp_path: Path, content: object) -> None:
    async with ward(tmp_path, "w1", "w2") as made:
        made["w2"].local.faults.add(RawAnswer(document(content)), path=OPENAPI)
        result = await doctor(made, tmp_path)
        assert result.exit_code == 1, result.stderr
        assert result.stdout.splitlines() == [
            f"w2: error: answers: {NO_DESCRIPTION}",
            "  remedy: check for a proxy between Turnstile and the API server, and that it is an API server",
            "Kueue: hub v0.20 or later (schema), w1 v0.20 or later (schema)",
            "1 finding(s): 35 checks on 3 clusters (hub, w1, w2)",
        ]


async def test_S6_a_hub_that_answers_with_nonsense_is_a_finding_too(tmp_path: Path) -> None:
    async with ward(tmp_path, "w1") as made:
        head = {"apiVersion": f"{KUEUE}/v1beta2", "kind": "AdmissionCheckList", "metadata": {"resourceVersion": "1"}}
        odd = {**head, "items": [{"metadata": METADATA, "spec": "none"}]}
        made.hub.local.faults.add(RawAnswer(document(odd)), verb="list", plural="admissionchecks")
        found = await examined(made)
        (finding,) = [each for each in found.findings if each.cluster == "hub"]
        assert finding.message.startswith("cannot be understood: ")
        assert found.hub_answers
