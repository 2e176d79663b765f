"""`turnstile predict -f`: predictions from plain manifests."""

import difflib
from collections.abc import Sequence
from dataclasses import replace

from config.api.meta import ObjectKey, parse_time
from engine.configuration import FairSharing, KueueConfiguration
from engine.decision import Prediction
from engine.features import parse_feature_gates
from engine.model import ClusterModel
from engine.objects.unsupported import COLD_START
from engine.predict import predict
from manager.cli.manifests import Manifest, ManifestError, load_manifests

DEFAULT_STRATEGIES = "default"


def predict_manifests(
    files: Sequence[str],
    *,
    workload: str | None,
    now: str | None,
    current_time_ns: int,
    feature_gates: str | None,
    fair_sharing: str | None,
) -> list[Prediction]:
    """Return the predictions for one workload, or for every pending one, each as if it were alone."""
    manifests = load_manifests(files)
    configuration = read_configuration(manifests, feature_gates, fair_sharing)
    model = ClusterModel(configuration)
    for manifest in manifests:
        try:
            model.apply(manifest.raw)
        except ValueError as error:
            raise ManifestError(f"{manifest.source}: {error}") from None
    now_ns = current_time_ns if now is None else read_time(now)
    keys = [pending.key for pending in model.pending()] if workload is None else [_key(model, workload)]
    return [_labelled(predict(model, key, now_ns, explain=True)) for key in keys]


def _labelled(prediction: Prediction) -> Prediction:
    """Say what objects alone cannot tell."""
    label = f"{COLD_START.feature}: {COLD_START.detail}"
    return replace(prediction, labels=(*prediction.labels, label))


def read_time(text: str, option: str = "--now") -> int:
    """Read a time that an option gives."""
    try:
        return parse_time(text)
    except ValueError as error:
        raise ManifestError(f"{option}: {error}") from None


def read_configuration(
    manifests: Sequence[Manifest], feature_gates: str | None, fair_sharing: str | None
) -> KueueConfiguration:
    """Return how the predicted Kueue is configured: by its file if there is one, and by options."""
    found = [manifest for manifest in manifests if manifest.is_configuration]
    if len(found) > 1:
        sources = ", ".join(manifest.source for manifest in found)
        raise ManifestError(f"{sources}: more than one Kueue Configuration")
    gates = None if feature_gates is None else parse_feature_gates(feature_gates)
    try:
        configuration = KueueConfiguration.from_raw(found[0].raw if found else {}, gates)
    except ValueError as error:
        raise ManifestError(f"{found[0].source}: Configuration: {error}" if found else str(error)) from None
    if fair_sharing is None:
        return configuration
    names = [] if fair_sharing == DEFAULT_STRATEGIES else [name.strip() for name in fair_sharing.split(",")]
    return replace(configuration, fair_sharing=FairSharing.from_names(names))


def _key(model: ClusterModel, text: str) -> ObjectKey:
    namespace, slash, name = text.partition("/")
    key = ObjectKey(namespace, name) if slash else ObjectKey("default", text)
    if model.workload(key) is None:
        known = [str(pending.key) for pending in model.pending()]
        close = difflib.get_close_matches(str(key), known, n=1)
        hint = f", did you mean {close[0]}?" if close else ""
        raise ManifestError(f"--workload {text}: there is no Workload {key}{hint}")
    return key
