"""What the examinations of the hub and of a worker share: findings so far, the way to the cluster, what it allows.

Findings are kept as they are made, so that a cluster that stops answering half way does not take along what was found.
Invariant: no credential gets into a finding; what a server says is printable and cut.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from config.api.meta import NANOSECONDS
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.credentials import CredentialError, parse_token_file, token_expiry
from config.kubeconfig.sources import read_token_file
from config.names import KUEUE_GROUP
from config.reading.files import UnreadableFileError
from gates.detection.detected import DetectedKueue
from gates.diagnosis.capabilities import detection_findings, permission_findings, version_findings
from gates.diagnosis.connection import Expiries, expiry_findings, handshake_findings, skew_findings
from gates.diagnosis.finding import Finding, Severity, Topic, error
from manager.clusters.kueue_detection import KueueDetector
from manager.planning.listed import NO_DESCRIPTION, certain_skew_ns
from manager.process.supervision import Misunderstood, per_cluster
from workerclient.base.errors import ClusterError, Forbidden, Refused, Unauthenticated
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClusterClient
from workerclient.questions.handshake import first_end, shake_hands
from workerclient.questions.preflight import Need
from workerclient.transport.file_threads import in_file_thread

HUB: Final = "hub"
_ROTATE: Final = "create a new token with `turnstile worker rotate`"


@dataclass(slots=True)
class Examination:
    """One cluster under examination."""

    cluster: str
    access: ClusterAccess
    client_context: ClientContext
    seconds: float
    findings: list[Finding] = field(default_factory=list)
    checks: int = 0
    """How many checks were carried out."""
    is_reachable: bool = False
    kueue: DetectedKueue | None = None
    """Which Kueue runs there; None where that was not found out."""

    def note(self, findings: Iterable[Finding]) -> None:
        """Keep what one check found, if anything."""
        self.checks += 1
        self.findings.extend(findings)

    async def examine_way(self) -> bool:
        """Check certificates and credentials; return whether a request is worth sending."""
        now_ns = self.client_context.clock.now_ns()
        self.note(expiry_findings(self.cluster, await self._expiries(), now_ns))
        shaken = await shake_hands(self.access, self.client_context.clock, self.seconds / 2)
        self.note(handshake_findings(self.cluster, shaken, now_ns))
        return shaken.trouble is None

    async def examine(self, examination: Callable[[ClusterClient], Awaitable[None]]) -> None:
        """Examine the connection to the cluster, then the cluster itself as far as it answers."""
        if not await self.examine_way():
            return
        client = ClusterClient(self.cluster, self.access, self.client_context)
        try:
            outcome = await per_cluster(examination(client), ClusterError)
            if isinstance(outcome, Misunderstood):
                self.misunderstand(outcome)
        except ClusterError as failure:
            self.fail(failure)
        finally:
            await client.close()

    def misunderstand(self, outcome: Misunderstood) -> None:
        """Keep that a cluster sent something which ended its examination."""
        remedy = "check for a proxy between Turnstile and the API server, and that it is an API server"
        self.findings.append(error(self.cluster, Topic.ANSWERS, outcome.problem, remedy))

    async def examine_permissions(
        self, client: ClusterClient, needs: Sequence[Need], role: str, severity: Severity = Severity.ERROR
    ) -> None:
        """Ask which of some verbs may not be used; kinds that are not served are another finding."""
        served = await client.served_kinds({need.kind for need in needs})
        missing = await client.missing_permissions([need for need in needs if served[need.kind]])
        # PodGroups, which some clusters serve in two versions, are one kind to a role.
        verbs = dict.fromkeys((each.verb, each.resource) for each in missing)
        self.note(permission_findings(self.cluster, list(verbs), role, severity))

    async def examine_versions(self, client: ClusterClient, kinds: Iterable[ApiKind]) -> bool:
        """Check which Kueue kinds are served; return whether all required ones are."""
        served = await client.served_versions(KUEUE_GROUP)
        known = await client.served_kinds(kinds) if served else {}
        absent = [kind.resource for kind, is_served in known.items() if not is_served]
        found = list(version_findings(self.cluster, served, absent))
        self.note(found)
        return not found

    async def examine_kueue(self, client: ClusterClient, configured: str = "") -> DetectedKueue | None:
        """Find out which Kueue runs there; None if the cluster does not describe its Workloads."""
        found = await KueueDetector(client, configured).detect()
        if not found.schema.is_described:
            self.misunderstand(Misunderstood(NO_DESCRIPTION))
            return None
        self.kueue = found
        self.note(detection_findings(self.cluster, found))
        return found

    def examine_clock(self, client: ClusterClient) -> None:
        """Compare clocks, by the answers so far."""
        self.note(skew_findings(self.cluster, certain_skew_ns(client.skew)))

    def fail(self, failure: ClusterError) -> None:
        """Record why a cluster refused a request, unless a missing verb was reported already."""
        if isinstance(failure, Forbidden) and any(each.topic is Topic.PERMISSIONS for each in self.findings):
            return
        topic, remedy = Topic.REACHABILITY, "see the API server's log"
        if isinstance(failure, Unauthenticated):
            topic = Topic.TOKEN
            remedy = "renew the credentials in the hub's kubeconfig" if self.cluster == HUB else _ROTATE
        elif isinstance(failure, Refused):
            remedy = failure.remedy
        self.findings.append(error(self.cluster, topic, f"{failure.operation}: {failure.message}", remedy))

    async def _expiries(self) -> Expiries:
        access, certificate = self.access, self.access.client_certificate
        token_ns, is_renewed = _ns(access.token), access.token_is_renewed
        if access.token_file is not None:
            is_renewed = True
            try:
                content = await in_file_thread(access.token_file, read_token_file, access.token_file)
                token_ns = _ns(parse_token_file(content).token)
            except UnreadableFileError as failure:
                message = f"the token file cannot be read: it {failure}"
                self.findings.append(
                    error(self.cluster, Topic.TOKEN, message, "check the file that the kubeconfig names")
                )
            except CredentialError as failure:
                self.findings.append(error(self.cluster, Topic.TOKEN, str(failure), "write a token into the file"))
        return Expiries(
            authority_ns=first_end(access.ca) if isinstance(access.ca, bytes) else None,
            client_certificate_ns=(
                first_end(certificate.certificate)
                if certificate is not None and isinstance(certificate.certificate, bytes)
                else None
            ),
            token_ns=token_ns,
            token_is_renewed=is_renewed,
        )


def _ns(token: str | None) -> int | None:
    ends = token_expiry(token) if token is not None else None
    return None if ends is None else int(ends.timestamp()) * NANOSECONDS
