"""A configuration that remembers which of its fields are read."""

from functools import partial
from types import MethodType
from typing import Any, cast

from pydantic import BaseModel

from config.kubeconfig.access import ClusterAccess
from config.loading.loading import Loaded
from config.sections.settings import Configuration
from manager.app.reloading import Followers, Prepare, Reloading
from manager.app.service import hub_access

Field = tuple[str, ...]


class RecordingConfiguration:
    """Answers as a configuration does; `reads` holds every field that was asked for, sections and what is in them."""

    def __init__(self, model: BaseModel, reads: set[Field] | None = None, path: Field = ()) -> None:
        self._model = model
        self._path = path
        self.reads: set[Field] = set() if reads is None else reads

    def __eq__(self, other: object) -> bool:
        return bool(self._model == (other._model if isinstance(other, RecordingConfiguration) else other))

    def __hash__(self) -> int:
        return hash(self._model)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._model, name)
        if isinstance(value, MethodType) and name not in dir(BaseModel):
            return partial(value.__func__, self)  # so that what the method reads is seen too
        path = (*self._path, name)
        self.reads.add(path)
        return RecordingConfiguration(value, self.reads, path) if isinstance(value, BaseModel) else value


async def reload(configuration: Configuration, *prepare: Prepare[ClusterAccess]) -> set[Field]:
    """Do what SIGHUP does with an unchanged file, and return the fields that are read from then on."""
    recording = RecordingConfiguration(configuration)

    def access_of(found: Configuration) -> ClusterAccess:
        recording.reads.clear()  # comparing the files reads everything
        return hub_access(found)

    def reread() -> Loaded:
        return Loaded(cast("Configuration", recording), ())

    assert await Reloading(configuration, reread, access_of, Followers(prepare)).reload()
    return recording.reads
