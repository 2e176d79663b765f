"""What is said about the places of pods: where they go, what is fragmented, and what a victim leaves."""

from collections.abc import Iterator, Sequence
from typing import Final

from config.api.meta import Obj

_MOST_DOMAINS: Final = 4
"""More than so many domains are added up by the level above."""


def place_sentences(document: Obj) -> Iterator[str]:
    """Yield where the pods of each pod set would go."""
    for each in document.get("places") or ():
        yield f"places pod set {each['podSet']} on {domains_text(each['domains'])}"


def fragmentation_sentences(document: Obj) -> Iterator[str]:
    """Yield which pod sets fit by quota, and how far the free nodes go."""
    for each in document.get("fragmented") or ():
        if each["domain"]:
            free = f"the largest free {each['level']} has room for {each['largest']} of {each['needed']} pods"
            where = f" ({each['domain']}), all together for {each['inAll']}"
        else:
            free, where = f"all free nodes together have room for {each['inAll']} of {each['needed']} pods", ""
        yield f"pod set {each['podSet']} fits by quota; {free}{where}"


def victim_places(victim: Obj) -> str:
    """Say which domains a victim leaves; empty where that is not known."""
    places = victim.get("places") or ()
    return f", leaves {domains_text(places)}" if places else ""


def domains_text(domains: Sequence[Obj]) -> str:
    """Name domains with their numbers of pods; many of them by the domains above."""
    named = [(str(each["domain"]), int(each["pods"]), 1) for each in domains]
    while len(named) > _MOST_DOMAINS and any("/" in domain for domain, _, _ in named):
        above: dict[str, tuple[int, int]] = {}
        for domain, pods, count in named:
            parent = domain.rpartition("/")[0] or domain
            before = above.get(parent, (0, 0))
            above[parent] = (before[0] + pods, before[1] + count)
        named = [(domain, *numbers) for domain, numbers in above.items()]
    listed = [
        f"{domain}: {pods}" if count == 1 else f"{domain}: {pods} in {count} domains"
        for domain, pods, count in named[:_MOST_DOMAINS]
    ]
    more = [f"{len(named) - _MOST_DOMAINS} more"] if len(named) > _MOST_DOMAINS else []
    return ", ".join([*listed, *more])
