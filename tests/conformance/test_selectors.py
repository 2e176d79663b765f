"""Label and field selectors of lists."""

import pytest

from tests.conformance.builders import core_event, job, pod, secret, workload
from tests.conformance.client import Api
from tests.conformance.resources import EVENTS, JOBS, NAMESPACES, PODS, SECRETS, WORKLOADS, Resource
from tests.conformance.samples import Sample

LABELS: dict[str, dict[str, str]] = {
    "plain": {},
    "red": {"color": "red", "size": "1"},
    "blue": {"color": "blue", "size": "5", "example.com/owner": "x"},
    "empty": {"color": ""},
}


async def selected(api: Api, path: str, **selectors: str) -> set[str]:
    found = (await api.get(path, **selectors)).ok()
    return {each["metadata"]["name"] for each in found["items"]}


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ("color=red", {"red"}),
        ("color==red", {"red"}),
        ("color!=red", {"plain", "blue", "empty"}),
        ("color", {"red", "blue", "empty"}),
        ("!color", {"plain"}),
        ("color in (red, blue)", {"red", "blue"}),
        ("color in (red,)", {"red", "empty"}),
        ("color notin (red,blue)", {"plain", "empty"}),
        ("color=", {"empty"}),
        ("color=red,size=1", {"red"}),
        ("color=red,size=5", set()),
        ("color,!example.com/owner", {"red", "empty"}),
        ("example.com/owner=x", {"blue"}),
        ("size>3", {"blue"}),
        ("size<3", {"red"}),
        (" color = red ", {"red"}),
        ("", {"plain", "red", "blue", "empty"}),
    ],
)
async def test_label_selector(api: Api, namespace: str, sample: Sample, selector: str, want: set[str]) -> None:
    for name, labels in LABELS.items():
        await sample.create(api, namespace, name, labels=labels)
    assert await selected(api, sample.at(namespace), labelSelector=selector) == want


@pytest.mark.parametrize("selector", ["a in", "a in (", "=x", "a=b=c", "a b", "-a=x", "a=x y", "a>x", "a in ()b"])
async def test_label_selector_that_cannot_be_read(api: Api, namespace: str, sample: Sample, selector: str) -> None:
    (await api.get(sample.at(namespace), labelSelector=selector)).error(400, "BadRequest")


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ("metadata.name=a", {"a"}),
        ("metadata.name==a", {"a"}),
        ("metadata.name!=a", {"b", "c"}),
        ("metadata.name=a,metadata.name=b", set()),
        ("metadata.name!=a,metadata.name!=b", {"c"}),
        ("metadata.namespace=nowhere", set()),
        ("", {"a", "b", "c"}),
    ],
)
async def test_field_selector_on_metadata(
    api: Api, namespace: str, sample: Sample, selector: str, want: set[str]
) -> None:
    for name in ("a", "b", "c"):
        await sample.create(api, namespace, name)
    assert await selected(api, sample.at(namespace), fieldSelector=selector) == want


async def test_field_selector_narrows_a_list_over_all_namespaces(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    assert await selected(api, sample.at(), fieldSelector=f"metadata.namespace={namespace}") == {"a"}


@pytest.mark.parametrize("selector", ["spec.nosuch=a", "metadata.labels=a", "metadata.uid=a"])
async def test_field_that_cannot_be_selected_by(api: Api, namespace: str, sample: Sample, selector: str) -> None:
    status = (await api.get(sample.at(namespace), fieldSelector=selector)).error(400, "BadRequest")
    assert selector.split("=")[0] in status["message"]


@pytest.mark.parametrize("selector", ["metadata.name", "metadata.name>a"])
async def test_field_selector_that_cannot_be_read(api: Api, namespace: str, sample: Sample, selector: str) -> None:
    (await api.get(sample.at(namespace), fieldSelector=selector)).error(400, "BadRequest")


async def test_labels_and_fields_together(api: Api, namespace: str, sample: Sample) -> None:
    for name in ("a", "b"):
        await sample.create(api, namespace, name, labels={"x": "y"})
    selectors = {"labelSelector": "x=y", "fieldSelector": "metadata.name!=a"}
    assert await selected(api, sample.at(namespace), **selectors) == {"b"}


async def create(api: Api, resource: Resource, namespace: str, *objects: dict[str, object]) -> None:
    for each in objects:
        (await api.post(resource.at(namespace), each)).expect(201)


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ("spec.nodeName=n1", {"bound"}),
        ("spec.nodeName=", {"free", "never"}),
        ("spec.nodeName!=n1", {"free", "never"}),
        ("status.phase=Pending", {"bound", "free", "never"}),
        ("status.phase=Running", set()),
        ("spec.restartPolicy=Never", {"never"}),
        ("spec.schedulerName=other", {"free"}),
    ],
)
async def test_pods_by_field(api: Api, namespace: str, selector: str, want: set[str]) -> None:
    pods = pod("bound", nodeName="n1"), pod("free", schedulerName="other"), pod("never", restartPolicy="Never")
    await create(api, PODS, namespace, *pods)
    assert await selected(api, PODS.at(namespace), fieldSelector=selector) == want


async def test_secrets_by_type(api: Api, namespace: str) -> None:
    await create(api, SECRETS, namespace, secret("plain"), secret("own", type="example.com/own"))
    assert await selected(api, SECRETS.at(namespace), fieldSelector="type=Opaque") == {"plain"}


async def test_jobs_by_success(api: Api, namespace: str) -> None:
    await create(api, JOBS, namespace, job("a"))
    assert await selected(api, JOBS.at(namespace), fieldSelector="status.successful=0") == {"a"}
    assert await selected(api, JOBS.at(namespace), fieldSelector="status.successful=1") == set()


async def test_events_by_what_they_are_about(api: Api, namespace: str) -> None:
    await create(
        api, EVENTS, namespace, core_event("a", namespace), core_event("b", namespace, type="Warning", reason="Bad")
    )
    at = EVENTS.at(namespace)
    assert await selected(api, at, fieldSelector="involvedObject.name=p,involvedObject.kind=Pod") == {"a", "b"}
    assert await selected(api, at, fieldSelector="involvedObject.name=q") == set()
    assert await selected(api, at, fieldSelector="type=Warning,reason=Bad") == {"b"}


async def test_namespaces_by_phase(api: Api, namespace: str) -> None:
    selector = f"status.phase=Active,metadata.name={namespace}"
    assert await selected(api, NAMESPACES.at(), fieldSelector=selector) == {namespace}


async def test_workloads_by_name_only(api: Api, namespace: str) -> None:
    await create(api, WORKLOADS, namespace, workload("a"))
    (await api.get(WORKLOADS.at(namespace), fieldSelector="spec.queueName=q")).error(400, "BadRequest")
