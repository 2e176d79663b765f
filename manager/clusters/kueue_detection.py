"""Asks one cluster which Kueue it runs, and notices when that changes.

Its schema may be read by every user. Its Deployment and ConfigMap tell more where a role allows to read them; where
none does, that is asked again only now and then.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from config.api.meta import Obj, ObjectKey
from config.names import KUEUE_GROUP
from config.reading.yaml_document import NotYamlError, YamlProblem, read_yaml
from gates.detection.claims import VersionClaim, VersionSource
from gates.detection.detected import NOT_DETECTED, DetectedKueue, detected
from gates.detection.gate_switch import KueueSettings
from gates.detection.installation import (
    CONFIG_MAPS_OF_KUEUE,
    DEPLOYMENTS_OF_KUEUE,
    KueueConfigMap,
    KueueDeployment,
    read_config_map,
    read_deployment,
)
from gates.detection.schema_facts import schema_facts
from manager.base.kinds import CONFIG_MAPS, DEPLOYMENTS, WORKLOADS
from workerclient.base.errors import ClusterError, NotFound, NotServed, Refused
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClusterClient
from workerclient.transport.file_threads import in_file_thread

LOOK_AGAIN_SECONDS: Final = 60.0
"""How often it is looked whether a Kueue was upgraded."""
_LOOKS_WITHOUT_ROLE: Final = 10
"""After how many looks a role that was missing is tried again."""
MAX_CONFIGURATION_CHARACTERS: Final = 256 << 10
_MAX_VALUES: Final = 10_000
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class KueueSigns:
    """What changes when a Kueue is upgraded or configured anew."""

    served: tuple[str, ...] = ()
    schema_hash: str = ""
    deployment: KueueDeployment | None = None
    config_map: KueueConfigMap | None = None
    problem: str = ""
    """Why the Deployment or the ConfigMap could not be read although that is allowed."""


class KueueDetector:
    """What is known of one cluster's Kueue; `configured` is the version that the configuration names, if any."""

    def __init__(self, client: ClusterClient, configured: str = "") -> None:
        self.found: DetectedKueue = NOT_DETECTED
        self._client = client
        self._configured = configured
        self._signs = KueueSigns()
        self._looks_to_skip: dict[ApiKind, int] = {}

    async def detect(self) -> DetectedKueue:
        """Ask the cluster; raises `ClusterError` if it does not describe its kinds, and then what was known stands."""
        document = await self._client.openapi(WORKLOADS)
        try:
            signs = await self._read_signs()
        except ClusterError:  # it need not say
            signs = KueueSigns()
        settings = await self._settings(signs)
        self.found = detected(schema_facts(document, signs.served), self._claims(signs), settings, self.found)
        self._signs = signs
        return self.found

    async def has_changed(self) -> bool:
        """Return whether the cluster is to be asked again; one that does not answer has not changed."""
        try:
            return await self._read_signs() != self._signs
        except ClusterError:
            return False

    async def _read_signs(self) -> KueueSigns:
        served = await self._client.served_versions(KUEUE_GROUP)
        schema_hash = await self._client.openapi_hash(WORKLOADS)
        try:
            deployment = await self._first(DEPLOYMENTS, DEPLOYMENTS_OF_KUEUE, read_deployment)
            config_map = await self._first(CONFIG_MAPS, CONFIG_MAPS_OF_KUEUE, read_config_map)
        except ClusterError as error:
            return KueueSigns(served, schema_hash, problem=f"how its Kueue is installed cannot be read: {error}")
        return KueueSigns(served, schema_hash, deployment, config_map)

    async def _first(self, kind: ApiKind, places: Iterable[ObjectKey], read: Callable[[Obj], Read]) -> Read | None:
        """Return the first of the objects that is there and may be read."""
        if self._looks_to_skip.get(kind, 0) > 0:
            self._looks_to_skip[kind] -= 1
            return None
        is_forbidden = False
        for place in places:
            try:
                return read(await self._client.resource(kind).get(place))
            except Refused:
                is_forbidden = True
            except (NotFound, NotServed):
                continue
        self._looks_to_skip[kind] = _LOOKS_WITHOUT_ROLE if is_forbidden else 0
        return None

    def _claims(self, signs: KueueSigns) -> list[VersionClaim]:
        configured = [VersionClaim(VersionSource.CONFIGURED, self._configured)] if self._configured else []
        read = [each.claims for each in (signs.deployment, signs.config_map) if each is not None]
        return [*configured, *(claim for claims in read for claim in claims)]

    async def _settings(self, signs: KueueSigns) -> KueueSettings:
        config_map = signs.config_map
        text = config_map.text if config_map is not None else None
        if config_map is None or text is None:
            return KueueSettings(signs.deployment, problem=signs.problem)
        try:
            configuration = await in_file_thread(self, configuration_of, text)
        except NotYamlError as error:
            problem = f"the Configuration of its Kueue cannot be read: line {error.problem.line} {error}"
            return KueueSettings(signs.deployment, None, config_map.changed_ns, problem)
        return KueueSettings(signs.deployment, configuration, config_map.changed_ns)


def configuration_of(text: str) -> Mapping[str, object]:
    """Read a Configuration of whatever size; raises `NotYamlError`."""
    if len(text) > MAX_CONFIGURATION_CHARACTERS:
        raise NotYamlError(YamlProblem(1, f"is longer than {MAX_CONFIGURATION_CHARACTERS} characters"))
    document = read_yaml(text.encode(errors="replace"), _MAX_VALUES)
    for problem in document.problems:
        raise NotYamlError(problem)
    if not isinstance(document.tree, dict) or document.tree.get("kind") != "Configuration":
        raise NotYamlError(YamlProblem(1, "is not a Kueue Configuration"))
    return document.tree
