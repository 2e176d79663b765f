"""`turnstile predict-pods -f`: forecasts from plain manifests."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from config.api.meta import ObjectKey
from engine.pods.predict import predict_group, predict_pod
from engine.pods.reading.validation import Diagnostic, diagnose, is_examined
from engine.pods.state.model import KINDS, PodModel
from engine.pods.values.answer import PodForecast, UnitKind
from engine.pods.values.values import SchedulerMode
from manager.cli.reading.manifests import Manifest, ManifestError, read_manifests

KEP_DROPPED: Final = (
    "mode kep follows KEP-5710 as it was designed: upstream dropped delayed preemption, and no release behaves so"
)


def forecast_manifests(
    files: Sequence[str], *, pod: str | None, pod_group: str | None, mode: SchedulerMode
) -> list[PodForecast]:
    """Return the forecast for one pod or group, or for every pending one, each as if it were alone."""
    manifests = read_manifests(files)
    model = PodModel()
    for kind in KINDS:
        for manifest in manifests:
            if manifest.raw["kind"] == kind:
                _apply(model, manifest)
    remarks = [*map(str, _remarks(model, manifests))]
    if mode is SchedulerMode.KEP:
        remarks.append(KEP_DROPPED)
    for error in model.dangling():
        raise error
    asked = _asked(model, pod, pod_group)
    return [_with_remarks(_forecast(model, kind, key, mode), remarks) for kind, key in asked]


def _apply(model: PodModel, manifest: Manifest) -> None:
    try:
        for remark in _examine(model, manifest):
            if remark.is_error:
                raise ManifestError(str(remark))
        model.apply(manifest.raw)
    except ValueError as error:
        raise ManifestError(f"{manifest.source}: {error}") from None


def _examine(model: PodModel, manifest: Manifest) -> list[Diagnostic]:
    return diagnose(manifest.raw, model.priority_classes) if is_examined(manifest.raw) else []


def _remarks(model: PodModel, manifests: Iterable[Manifest]) -> Iterator[Diagnostic]:
    """Yield what is worth knowing of groups that are accepted; Workloads are only templates of them."""
    for manifest in manifests:
        try:
            yield from _examine(model, manifest)
        except ValueError as error:
            raise ManifestError(f"{manifest.source}: {error}") from None


def _with_remarks(forecast: PodForecast, remarks: Sequence[str]) -> PodForecast:
    return replace(forecast, warnings=(*forecast.warnings, *remarks))


def _asked(model: PodModel, pod: str | None, pod_group: str | None) -> list[tuple[UnitKind, ObjectKey]]:
    if pod is not None:
        return [(UnitKind.POD, _key(pod, "--pod", "pending Pod", model.pending))]
    grouped = dict.fromkeys(waiting.group for waiting in model.pending.values() if waiting.group is not None)
    if pod_group is not None:
        return [(UnitKind.POD_GROUP, _key(pod_group, "--pod-group", "PodGroup with a pending pod", grouped))]
    alone = [waiting.key for waiting in model.pending.values() if waiting.group is None]
    return [*((UnitKind.POD, key) for key in alone), *((UnitKind.POD_GROUP, key) for key in grouped)]


def _forecast(model: PodModel, kind: UnitKind, key: ObjectKey, mode: SchedulerMode) -> PodForecast:
    predict = predict_pod if kind is UnitKind.POD else predict_group
    return predict(model, key, mode, explain=True)


def _key(text: str, option: str, what: str, known: Iterable[ObjectKey]) -> ObjectKey:
    namespace, slash, name = text.partition("/")
    key = ObjectKey(namespace, name) if slash else ObjectKey("default", text)
    names = list(map(str, known))
    if str(key) not in names:
        close = difflib.get_close_matches(str(key), names, n=1)
        hint = f", did you mean {close[0]}?" if close else ""
        raise ManifestError(f"{option} {text}: there is no {what} {key}{hint}")
    return key
