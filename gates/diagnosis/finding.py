"""One thing that is not as it should be, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether Turnstile can do its work in spite of it."""

    ERROR = "error"
    WARNING = "warning"
    """It works, but not as well as it could, or not for long."""


class Topic(StrEnum):
    """What a finding is about."""

    KUBECONFIG = "kubeconfig"
    REACHABILITY = "reachability"
    ANSWERS = "answers"
    TLS = "tls"
    TOKEN = "token"  # noqa: S105 - a word, not a secret
    IDENTITY = "identity"
    PERMISSIONS = "permissions"
    VERSIONS = "versions"
    GATES = "gates"
    CLOCK = "clock"
    QUEUES = "queues"
    NAMESAKES = "namesakes"
    RIVALS = "rivals"
    CHECKS = "checks"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding."""

    cluster: str
    topic: Topic
    severity: Severity
    message: str
    remedy: str


def finding_document(finding: Finding) -> dict[str, str]:
    """Return a finding as plain data."""
    return {
        "cluster": finding.cluster,
        "topic": str(finding.topic),
        "severity": str(finding.severity),
        "message": finding.message,
        "remedy": finding.remedy,
    }


def error(cluster: str, topic: Topic, message: str, remedy: str) -> Finding:
    """Return something that keeps Turnstile from its work."""
    return Finding(cluster, topic, Severity.ERROR, message, remedy)


def warning(cluster: str, topic: Topic, message: str, remedy: str) -> Finding:
    """Return something that is worth knowing."""
    return Finding(cluster, topic, Severity.WARNING, message, remedy)
