"""A built-in kind and a custom one: a real server serves the two by different code, and a test should not care."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.conformance.builders import local_queue, secret
from tests.conformance.client import Api, Obj
from tests.conformance.resources import LOCAL_QUEUES, SECRETS, Resource


@dataclass(frozen=True, slots=True)
class Sample:
    """A namespaced kind with the builder of its smallest object."""

    resource: Resource
    build: Callable[..., Obj]

    def at(self, namespace: str | None = None, name: str | None = None) -> str:
        """Return the path of the collection or of an object."""
        return self.resource.at(namespace, name)

    async def create(self, api: Api, namespace: str, name: str, **metadata: Any) -> Obj:
        """Create an object with this metadata and return it as stored."""
        return (await api.post(self.at(namespace), self.build(name, metadata=metadata))).expect(201)


BUILT_IN = Sample(SECRETS, secret)
CUSTOM = Sample(LOCAL_QUEUES, local_queue)
