"""Every name that Turnstile puts on the wire, in one place.

Our own names live under DOMAIN; names of Kueue's are repeated here exactly as Kueue v0.19.1 spells them.
"""

from typing import Final

DISTRIBUTION: Final = "multikueue-turnstile"
"""The name under which Turnstile is installed."""
DOMAIN: Final = "multikueue-turnstile.dev"
FIELD_MANAGER: Final = DOMAIN
CONTROLLER_NAME: Final = f"{DOMAIN}/orchestrator"
CONFIG_API_VERSION: Final = f"config.{DOMAIN}/v1alpha1"
CONFIG_KIND: Final = "Configuration"

KUEUE_GROUP: Final = "kueue.x-k8s.io"
KUEUE_API_VERSION: Final = f"{KUEUE_GROUP}/v1beta2"
MULTIKUEUE_NAME: Final = f"{KUEUE_GROUP}/multikueue"
"""Kueue's controllerName, managedBy value and preemption gate name: one string with three uses."""
ORIGIN_LABEL: Final = f"{KUEUE_GROUP}/multikueue-origin"
KUBECONFIG_KEY: Final = "kubeconfig"
"""The key under which Kueue looks for a worker's kubeconfig in its Secret."""
KUBECONFIG_DIRECTORY: Final = "/etc/multikueue/kubeconfigs"
"""The directory to which Kueue confines kubeconfigs that are given by path."""

CONFIG_FILE: Final = "/etc/turnstile/turnstile.yaml"
CONFIG_FILE_VARIABLE: Final = "TURNSTILE_CONFIG"
SOCKET_VARIABLE: Final = "TURNSTILE_SOCKET"
"""Names the socket that commands ask; no setting of the daemon."""
LONGEST_SOCKET_PATH: Final = 107
"""What Linux accepts as the address of a Unix socket, in bytes."""
COMMAND_VARIABLES: Final = frozenset({CONFIG_FILE_VARIABLE, SOCKET_VARIABLE})
ENVIRONMENT_PREFIX: Final = "TURNSTILE_"
