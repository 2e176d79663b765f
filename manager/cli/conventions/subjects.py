"""How a user names a Workload or a job: NAMESPACE/NAME, NAME with -n, or KIND/NAME as kubectl writes it.

A namespace that is called like a kind has to be given with -n.
"""

from typing import Final, NamedTuple

from manager.cli.conventions.errors import BadInputError
from manager.cli.conventions.hub import namespace_of
from manager.cli.conventions.options import HubOptions, NamespaceOption

WORKLOAD: Final = "Workload"
_WORKLOAD_WORDS: Final = ("workload", "workloads", "wl", "workload.kueue.x-k8s.io", "workloads.kueue.x-k8s.io")
_FORMS: Final = "NAMESPACE/NAME, NAME with -n, workload/NAME or job/NAME"


class CommandSubject(NamedTuple):
    """What a command is about."""

    kind: str
    """`Workload`, or the kind of the job whose Workload is meant."""
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


def subject_of(text: str, chosen: NamespaceOption, options: HubOptions) -> CommandSubject:
    """Read what the user wrote; raises `BadInputError`."""
    *first, name = text.split("/")
    kind = kind_named(first[0]) if first else WORKLOAD
    if first and kind is not None:
        first = first[1:]
    if not name or len(first) > 1 or "" in first:
        raise BadInputError(f'"{text}" is not allowed: must be {_FORMS}')
    given = first[0] if first else None
    if given is not None and chosen.namespace not in (None, given):
        raise BadInputError(f'"{text}" names the namespace {given}, and -n {chosen.namespace} another; give one')
    namespace = given or namespace_of(chosen, options)
    if namespace is None:
        raise BadInputError(f'"{text}" names no namespace, and there is no kubeconfig to take it from; give it with -n')
    return CommandSubject(kind or WORKLOAD, namespace, name)


def kind_named(word: str) -> str | None:
    """Return the kind that a word in front of a slash names, None for a word that can only be a namespace."""
    from gates.jobs.kinds import SHIPPED

    if word.lower() in _WORKLOAD_WORDS:
        return WORKLOAD
    for kind in SHIPPED:
        words = (kind.kind.lower(), kind.plural)
        if word.lower() in (*words, *(f"{each}.{kind.group}" for each in words if kind.group)):
            return kind.kind
    return None
