"""The section about ClusterProfiles: objects of a cluster inventory that say where a worker is, but not how to log in.

The command that logs in is named here, by the operator. What a profile says never becomes part of a command line.
"""

from typing import Annotated

from config.sections.sections import FilePath, Section
from config.types.choices import ExecApiVersion
from config.types.field_types import OneOf, Switch, Text

ProviderName = Annotated[str, Text('the name of an access provider (for example "gke")', r"[^\x00-\x1f\x7f]+", 253)]
Argument = Annotated[str, Text("a string without NUL", r"[^\x00]*")]
VariableName = Annotated[str, Text("the name of an environment variable", r"[^=\x00]+")]


class ExecVariable(Section):
    """An environment variable for the command."""

    name: VariableName
    """The name of the variable."""
    value: Argument = ""
    """Its value."""


class AccessProvider(Section):
    """How to log in to the clusters that an access provider of this name leads to."""

    name: ProviderName
    """The name of the access provider in the status of ClusterProfiles."""
    command: FilePath
    """The command that prints an ExecCredential with a token."""
    args: tuple[Argument, ...] = ()
    """Arguments of the command."""
    env: tuple[ExecVariable, ...] = ()
    """Variables for the command, beside those of Turnstile itself."""
    api_version: Annotated[ExecApiVersion, OneOf(ExecApiVersion)] = ExecApiVersion.V1
    """The version of the ExecCredential that the command prints."""
    provide_cluster_info: Annotated[bool, Switch()] = False
    """Tell the command, in KUBERNETES_EXEC_INFO, which cluster it is for."""


class ClusterProfiles(Section):
    """MultiKueueClusters that name a ClusterProfile instead of a kubeconfig."""

    enabled: Annotated[bool, Switch()] = False
    """Look for the ClusterProfiles that MultiKueueClusters name, in the namespace `hub.namespace`."""
    access_providers: tuple[AccessProvider, ...] = ()
    """The access providers that can be used, the preferred one first."""
