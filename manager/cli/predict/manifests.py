"""`turnstile predict -f`: predictions from plain manifests."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from config.api.meta import ObjectKey, object_key, parse_time
from engine.cluster.model import ClusterModel
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.objects.convert import normalize
from engine.objects.unsupported import COLD_START
from engine.objects.webhook_rules import find_refusals
from engine.prediction.predict import predict
from engine.versions.gates import parse_feature_gates
from engine.versions.profiles import profile_of
from engine.vocabulary.decision import Prediction
from manager.cli.predict.objects import is_unmodelled, load_manifests
from manager.cli.predict.options import KueueOptions
from manager.cli.reading.manifests import Manifest, ManifestError

DEFAULT_STRATEGIES = "default"
_NOT_STORABLE = "not-storable"
_UNMODELLED_KIND = "unmodelled-kind"
_QUOTA_AUTOMATION = "multikueue-quota-automation"
_REFUSED = "refused by Kueue's API validation"


def predict_manifests(
    files: Sequence[str], kueue: KueueOptions, *, workload: str | None, current_time_ns: int
) -> list[Prediction]:
    """Return the predictions for one workload, or for every pending one, each as if it were alone."""
    manifests = load_manifests(files)
    configuration = read_configuration(manifests, kueue)
    sees_topology = any(manifest.raw.get("kind") == "Topology" for manifest in manifests)
    model = ClusterModel(configuration, sees_topology=sees_topology)
    for manifest in manifests:
        try:
            model.apply(manifest.raw)
        except ValueError as error:
            raise ManifestError(f"{manifest.source}: {error}") from None
    now_ns = current_time_ns if kueue.now is None else read_time(kueue.now)
    keys = [pending.key for pending in model.pending()] if workload is None else [_key(model, workload)]
    labels = labels_of(manifests, configuration)
    predictions = (predict(model, key, now_ns, explain=True) for key in keys)
    return [replace(each, labels=(*each.labels, *labels)) for each in predictions]


def labels_of(manifests: Sequence[Manifest], configuration: KueueConfiguration) -> tuple[str, ...]:
    """Return what an answer from manifests must mention: what they cannot show, and which no cluster would hold."""
    refused = (
        f"{_NOT_STORABLE}: {manifest.raw['kind']} {object_key(manifest.raw)}: {refusal} ({_REFUSED})"
        for manifest in manifests
        if not manifest.is_configuration and not is_unmodelled(manifest.raw)
        for refusal in find_refusals(normalize(manifest.raw), configuration.gates)
    )
    noted = (note for manifest in manifests for note in _notes(manifest))
    return (*refused, *noted, f"{COLD_START.feature}: {COLD_START.detail}")


def _notes(manifest: Manifest) -> Iterator[str]:
    """Yield what an object means for the answer that is no part of Kueue's scheduling."""
    raw = manifest.raw
    if manifest.is_configuration:
        return
    if is_unmodelled(raw):
        yield f"{_UNMODELLED_KIND}: {raw['kind']} {object_key(raw)} ({raw['apiVersion']}) is not read"
    if raw["kind"] == "MultiKueueConfig" and (raw.get("spec") or {}).get("quotaManagement") == "Automated":
        yield f"{_QUOTA_AUTOMATION}: MultiKueueConfig {object_key(raw)} lets Kueue change quotas of the hub by itself"


def read_time(text: str, option: str = "--now") -> int:
    """Read a time that an option gives."""
    try:
        return parse_time(text)
    except ValueError as error:
        raise ManifestError(f"{option}: {error}") from None


def read_configuration(manifests: Sequence[Manifest], kueue: KueueOptions) -> KueueConfiguration:
    """Return how the predicted Kueue is configured: by its file if there is one, and by options."""
    found = [manifest for manifest in manifests if manifest.is_configuration]
    if len(found) > 1:
        sources = ", ".join(manifest.source for manifest in found)
        raise ManifestError(f"{sources}: more than one Kueue Configuration")
    profile = profile_of(kueue.kueue_version)
    gates = None if kueue.feature_gates is None else parse_feature_gates(kueue.feature_gates)
    try:
        configuration = KueueConfiguration.from_raw(found[0].raw if found else {}, gates, profile)
    except ValueError as error:
        raise ManifestError(f"{found[0].source}: Configuration: {error}" if found else str(error)) from None
    strategies = kueue.fair_sharing
    is_assumed = not found and kueue.feature_gates is None and strategies is None
    if strategies is None:
        return replace(configuration, is_assumed=is_assumed)
    names = [] if strategies == DEFAULT_STRATEGIES else [name.strip() for name in strategies.split(",")]
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
