"""Questions of the form "what would happen if", asked of the live model without copying it.

Every change made inside is remembered as the value it replaced and taken back at the end, newest first, so that the
cost is that of the changes alone. Invariant: afterwards the model is as it was, generations included, also when a
prediction was given up in the middle.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from config.api.meta import ObjectKey
from engine.cluster.model import ClusterModel
from engine.objects.workloads import PendingWorkload
from engine.prediction.predict import predict
from engine.search.gating import with_open_gates
from engine.vocabulary.decision import Prediction

_STEPS: Final = 8
"""What it takes to change an object, and to take that back at the end."""


class WhatIf:
    """A hypothesis about a model; use it as a context manager."""

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._replaced: list[tuple[str, ObjectKey, Any]] = []
        self._counted_generations = True

    def __enter__(self) -> Self:
        forest = self._model.forest
        forest.settle()
        self._counted_generations = forest.counts_generations
        forest.counts_generations = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        while self._replaced:
            self._model.put(*self._replaced.pop())
        self._model.forest.settle()
        self._model.forest.counts_generations = self._counted_generations

    def add(self, raw: Mapping[str, Any]) -> None:
        """Suppose that this object exists, or is as given."""
        reduced = self._model.reduce(raw)
        if reduced is not None:
            self._put(*reduced)

    def suppose(self, kind: str, key: ObjectKey, value: Any) -> None:
        """Suppose that there is an object of which the reduced value is known."""
        self._put(kind, key, value)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """Suppose that this object is gone."""
        self._put(kind, ObjectKey(namespace, name), None)

    def open_gates(self, key: ObjectKey) -> None:
        """Suppose that every preemption gate of a pending workload is open."""
        workload = self._model.workload(key)
        if isinstance(workload, PendingWorkload):
            self.add(with_open_gates(workload.raw))

    def predict(self, key: ObjectKey, now_ns: int, *, explain: bool = False) -> Prediction:
        """Return what Kueue would do with a workload if all of this were so."""
        return predict(self._model, key, now_ns, explain=explain)

    def _put(self, kind: str, key: ObjectKey, value: Any) -> None:
        self._model.effort.spend(_STEPS)
        self._replaced.append((kind, key, self._model.put(kind, key, value)))
