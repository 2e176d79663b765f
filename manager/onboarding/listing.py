"""The workers of a hub, as a table: where their kubeconfigs are, whether they work, until when their tokens do."""

from dataclasses import dataclass

from config.api.meta import Obj, ObjectKey
from config.types.syntax import printable
from gates.model.activity import is_cordoned
from manager.base.kinds import CLUSTERS, CONFIGS, SECRETS
from manager.onboarding.clusters import ClusterApi
from manager.onboarding.objects import TOKEN_EXPIRES
from workerclient.base.errors import NotFound


@dataclass(frozen=True, slots=True)
class Row:
    """One worker; every string is safe for a terminal."""

    name: str
    kubeconfig: str
    active: str
    token_until: str
    configs: str


async def rows(hub: ClusterApi, namespace: str) -> list[Row]:
    """Return the hub's MultiKueueClusters by name."""
    clusters = [stored async for page in hub.resource(CLUSTERS).pages() for _, stored in page.items]
    configs = [stored async for page in hub.resource(CONFIGS).pages() for _, stored in page.items]
    return [
        await _row(hub, namespace, stored, configs)
        for stored in sorted(clusters, key=lambda stored: str(stored["metadata"]["name"]))
    ]


async def _row(client: ClusterApi, namespace: str, stored: Obj, configs: list[Obj]) -> Row:
    name = str(stored["metadata"]["name"])
    source = (stored.get("spec") or {}).get("clusterSource") or {}
    location = source.get("kubeConfig") or {}
    until = "-"
    if location.get("locationType", "Secret") == "Secret" and location.get("location"):
        until = await _token_until(client, ObjectKey(namespace, str(location["location"])))
    users = [str(each["metadata"]["name"]) for each in configs if name in (each.get("spec") or {}).get("clusters", [])]
    return Row(
        printable(name),
        printable(_where(source)),
        printable(_activity(stored)),
        printable(until),
        printable(",".join(sorted(users)) or "-"),
    )


async def _token_until(client: ClusterApi, key: ObjectKey) -> str:
    """Return what `add` or `rotate` wrote down; the kubeconfig itself is not read."""
    try:
        secret = await client.resource(SECRETS).get(key)
    except NotFound:
        return "no Secret"
    return str((secret["metadata"].get("annotations") or {}).get(TOKEN_EXPIRES, "unknown"))


def _where(source: Obj) -> str:
    if profile := source.get("clusterProfileRef"):
        return f"ClusterProfile {profile.get('name')}"
    location = source.get("kubeConfig") or {}
    return f"{location.get('locationType', 'Secret')} {location.get('location', '?')}"


def _activity(stored: Obj) -> str:
    for condition in (stored.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "Active":
            aside = ", cordoned" if is_cordoned(stored) else ""
            return f"yes{aside}" if condition.get("status") == "True" else f"no: {condition.get('reason', '?')}{aside}"
    return "unknown"
