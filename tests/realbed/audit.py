"""Who asked an API server for what: its audit log, reduced to Workloads and Jobs, and to all that a shadow asks."""

import json
from dataclasses import dataclass
from pathlib import Path

SHADOW_NAMESPACE = "turnstile-shadow"
SHADOW_USER = f"system:serviceaccount:{SHADOW_NAMESPACE}:turnstile"

_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "Metadata", "users": [SHADOW_USER]},
        {"level": "None", "verbs": ["watch"]},
        {
            "level": "Metadata",
            "resources": [
                {"group": "kueue.x-k8s.io", "resources": ["workloads", "workloads/status"]},
                {"group": "batch", "resources": ["jobs", "jobs/status"]},
            ],
        },
        {"level": "None"},
    ],
}


@dataclass(frozen=True, slots=True)
class Record:
    """One request that was answered."""

    user: str
    agent: str
    verb: str
    resource: str
    code: int


def flags(directory: Path) -> list[str]:
    """Write the policy and return the flags of an API server that keeps such a log."""
    policy = directory / "audit-policy.json"
    policy.write_text(json.dumps(_POLICY))
    return [f"--audit-policy-file={policy}", f"--audit-log-path={_log(directory)}"]


def position(directory: Path) -> int:
    """Return where the log ends now."""
    return _log(directory).stat().st_size if _log(directory).exists() else 0


def since(directory: Path, start: int) -> list[Record]:
    """Return what was asked since a position."""
    with _log(directory).open("rb") as log:
        log.seek(start)
        lines = log.read().splitlines()
    return [_record(json.loads(line)) for line in lines]


def _record(entry: dict[str, object]) -> Record:
    user, target, answer = (entry.get(name) or {} for name in ("user", "objectRef", "responseStatus"))
    assert isinstance(user, dict)
    assert isinstance(target, dict)
    assert isinstance(answer, dict)
    resource = "/".join(filter(None, (target.get("resource"), target.get("subresource"))))
    return Record(
        user=str(user.get("username", "")),
        agent=str(entry.get("userAgent", "")),
        verb=str(entry.get("verb", "")),
        resource=resource,
        code=int(answer.get("code", 0)),
    )


def _log(directory: Path) -> Path:
    return directory / "audit.log"
