"""Manifests of Kueue objects, brought to the version that the engine reads, and checked."""

from collections.abc import Sequence
from typing import Final

from config.api.meta import Raw
from config.names import KUEUE_GROUP
from engine.objects.convert import to_v1beta2
from engine.objects.validate_objects import check_object
from engine.vocabulary.errors import InvalidObjectError
from manager.cli.reading.manifests import Manifest, ManifestError, read_manifests

_ALPHA: Final = f"{KUEUE_GROUP}/v1alpha1"
_ALPHA_KINDS: Final = frozenset({"CapacityProvider", "DynamicQuotaOrchestrator", "PreemptionConfig"})


def load_manifests(names: Sequence[str]) -> list[Manifest]:
    """Read and check every object in the named files, directories and standard input."""
    return list(map(_checked, read_manifests(names)))


def is_unmodelled(raw: Raw) -> bool:
    """Return whether an object is of one of the kinds that Kueue has in an alpha version only."""
    return raw.get("apiVersion") == _ALPHA and raw["kind"] in _ALPHA_KINDS


def _checked(manifest: Manifest) -> Manifest:
    """Bring an object to the version that the engine reads, and refuse it if it cannot be used."""
    if manifest.is_configuration or is_unmodelled(manifest.raw):
        return manifest
    try:
        raw = to_v1beta2(manifest.raw)
        check_object(raw)
    except InvalidObjectError as error:
        raise ManifestError(f"{manifest.source}: {error}") from None
    return Manifest(raw, manifest.source)
