"""The annotation that holds a Workload back until others let it go: its format, and that gates are only removed."""

from collections.abc import Iterator, Sequence

from config.api.meta import Obj
from config.names import KUEUE_GROUP
from localcluster.kinds.columns import read
from localcluster.kinds.metadata import check_domain_prefixed_path
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors

ANNOTATION = f"{KUEUE_GROUP}/admission-gated-by"

_FIELD = f"metadata.annotations[{ANNOTATION}]"


def check_admission_gates(new: Obj, old: Obj | None) -> Iterator[SchemaError]:
    """Return what is wrong with the gates of a Workload, or with the change of them."""
    text = _annotation(new)
    gates = _parse(text)
    if old is not None and text:
        stored = _annotation(old)
        if not stored:
            yield errors.forbidden(_FIELD, "cannot add admission gate after creation")
        elif not set(gates) <= set(_parse(stored)):
            yield errors.forbidden(_FIELD, "can only remove gates, not add new ones")
    for index, gate in enumerate(gates):
        if not gate:
            yield errors.invalid(_FIELD, text, "cannot contain empty gate names")
        elif gate in gates[:index]:
            yield errors.invalid(_FIELD, text, f"duplicate gate name: {gate}")
        else:
            yield from check_domain_prefixed_path(gate, _FIELD)


def _annotation(workload: Obj) -> str:
    return str((read(workload, "metadata.annotations") or {}).get(ANNOTATION, ""))


def _parse(text: str) -> Sequence[str]:
    return [gate.strip() for gate in text.split(",")] if text.strip() else []
