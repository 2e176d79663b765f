"""What Kueue says when the pods find no place."""

from engine.topology.counts import DomainCounts, exclusions
from engine.topology.tree import Domain
from engine.vocabulary.topology import TopologyShortage


def no_place(counts: DomainCounts, count: int, placed: int, level: int) -> str:
    """Return the reason against a topology in which only so many slices find a place."""
    question = counts.question
    topology, size = counts.tree.topology, question.plan.slice_size
    if question.plan.layers:
        text = f'topology "{topology}" doesn\'t allow to fit{_layers(counts, count, level)}'
    else:
        unit = "slice(s)" if size > 1 else "pod(s)"
        if placed == 0:
            text = f'topology "{topology}" doesn\'t allow to fit any of {question.need} {unit}'
        else:
            text = f'topology "{topology}" allows to fit only {placed} out of {question.need} {unit}'
    causes = exclusions(counts)
    if not causes:
        return text
    listed = ", ".join(sorted(f"{cause}: {leaves}" for cause, leaves in causes.items()))
    return f"{text}. Total nodes: {len(counts.tree.leaves)}; excluded: {listed}"


def shortage_of(counts: DomainCounts, needed: int) -> TopologyShortage | None:
    """Return how far the free nodes go; None if one domain holds all pods, and something else is in the way."""
    plan = counts.question.plan
    level = plan.level if plan.is_required else 0
    held = [slices * plan.slice_size for slices in counts.slices_with_leader[level]]
    in_all = sum(slices * plan.slice_size for slices in counts.slices[level])
    if not plan.is_required:  # they may be spread over all domains
        return TopologyShortage(counts.tree.levels[level], needed, in_all, (), in_all) if in_all < needed else None
    best = max(range(len(held)), key=lambda index: held[index], default=None)
    largest = 0 if best is None else held[best]
    if largest >= needed:
        return None
    domain = () if best is None else counts.tree.domains[level][best].values
    return TopologyShortage(counts.tree.levels[level], needed, largest, domain, in_all)


def no_domains(counts: DomainCounts, level: int) -> str:
    """Return the reason against a topology without Nodes."""
    return f"no topology domains at level: {counts.tree.levels[level]}"


def _layers(counts: DomainCounts, count: int, level: int) -> str:
    """Say for each layer how many of its slices fit under the best domain."""
    tree, slices = counts.tree, counts.slices[level]
    best = max(tree.domains[level], key=lambda domain: (slices[domain.index], -domain.index))
    text = ""
    for layer, size in counts.question.plan.layers:
        fitting = sum(
            counts.pods[layer][domain.index] // size for domain in tree.domains[layer] if _is_under(domain, best)
        )
        text += f"; {fitting}/{count // size} slice(s) fit on level {tree.levels[layer]}"
    return text


def _is_under(domain: Domain, ancestor: Domain) -> bool:
    return domain.values[: len(ancestor.values)] == ancestor.values
