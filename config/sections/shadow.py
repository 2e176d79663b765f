"""The section `shadow`."""

from typing import Annotated

from config.sections.sections import DnsSubdomain, Origin, Section
from config.types.field_types import Switch


class Shadow(Section):
    """Beside Kueue's own MultiKueue controller: read, forecast and compare, write nothing but a Lease."""

    enabled: Annotated[bool, Switch()] = False
    """Run in this mode, as `turnstile run --shadow` does: follow the AdmissionChecks of Kueue's own controller and act
    on none."""
    origin: Origin = "multikueue"
    """Kueue's `multiKueue.origin`, which marks its copies on the workers."""
    lease_name: DnsSubdomain = "turnstile-shadow"
    """The name of the Lease in this mode, so that an orchestrator can run beside it."""
