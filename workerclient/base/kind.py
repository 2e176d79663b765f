"""Names on the wire: what a kind is called in URLs, and what an object is called within a kind."""

from dataclasses import dataclass
from urllib.parse import quote

from config.api.meta import ObjectKey


@dataclass(frozen=True, slots=True)
class ApiKind:
    """One kind of the Kubernetes API at one version."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """Return the value of `apiVersion`; the core group has no prefix."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """Return the name that RBAC rules and `kubectl` use, such as `workloads.kueue.x-k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def group_path(self) -> str:
        """Return the path under which the group version is served."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection_path(self, namespace: str = "") -> str:
        """Return the path of the list; without a namespace it spans all of them."""
        if namespace:
            return f"{self.group_path}/namespaces/{quote(namespace, safe='')}/{self.plural}"
        return f"{self.group_path}/{self.plural}"

    def object_path(self, key: ObjectKey, subresource: str = "") -> str:
        """Return the path of one object, or of a subresource of it."""
        path = f"{self.collection_path(key.namespace)}/{quote(key.name, safe='')}"
        return f"{path}/{subresource}" if subresource else path
