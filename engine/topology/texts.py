"""What Kueue says when the pods find no place."""

from engine.topology.counts import DomainCounts, exclusions
from engine.topology.tree import Domain


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
