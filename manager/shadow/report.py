"""The report of shadow mode, as a document; the same from the running daemon and from a journal."""

from collections.abc import Callable, Iterable
from pathlib import Path

from config.api.meta import NANOSECONDS, Obj, format_time
from gates.shadow.hindsight import Episode, PolicyOutcome, PreemptionCost, PreemptionStart, charged, cost_of, tally
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.journal.reader import has_entries
from manager.journal.schema import JournalError
from manager.journal.writer import DECISION
from manager.shadow.episode_log import EpisodeLog, recorded_episodes
from manager.shadow.problems import problems


def report_of(episodes: Iterable[Episode]) -> Obj:
    """Return the report about these episodes."""
    found = [episode for episode in episodes if episode.starts]
    total = tally(found)
    return {
        "episodes": [_episode(episode) for episode in found],
        "totals": {
            "episodes": total.episodes,
            "starts": total.starts,
            "ungated": total.ungated,
            "breaches": total.breaches,
            "forecasts": dict(total.results),
            "caused": _cost(total.caused),
            "policies": [
                {
                    "policy": str(each.policy),
                    "compared": each.compared,
                    "wouldCause": _cost(each.would_cause),
                    "spared": _cost(each.spared),
                }
                for each in total.policies
            ],
        },
    }


def live_report(episodes: EpisodeLog, hub: HubLink, fleet: Fleet, standby: str) -> Callable[[], Obj]:
    """Return what makes the report in any thread; `standby` says why this shadow observes nothing, empty if it does."""
    seen, unseen = list(episodes), [problem.document() for problem in problems(hub, fleet, standby)]
    return lambda: {"observes": not standby, "problems": unseen, **report_of(seen)}


def journal_report(path: Path) -> Obj:
    """Return the report of what a journal holds; raises `JournalError` for one that shadow mode did not write."""
    episodes = list(EpisodeLog(recorded_episodes(path)))
    if not episodes and has_entries(path, DECISION):
        raise JournalError(
            f"{path}: an orchestrator wrote this journal, not shadow mode; "
            "`turnstile timeline --victims --journal` lists what was preempted"
        )
    return {"observes": None, "problems": [], **report_of(episodes)}


def _episode(episode: Episode) -> Obj:
    return {
        "workload": episode.workload,
        "began": format_time(episode.attempt_ns),
        "settled": episode.is_settled,
        "starts": [_start(start) for start in episode.starts],
        "caused": _cost(episode.caused),
        "breaches": [
            {
                "first": breach.first,
                "second": breach.second,
                "secondsBetween": (breach.second_ns - breach.first_ns) // NANOSECONDS,
                "gated": breach.gated,
            }
            for breach in episode.breaches
        ],
        "choices": [_choice(episode, choice) for choice in episode.choices],
    }


def _start(start: PreemptionStart) -> Obj:
    forecast = start.forecast
    return {
        "cluster": start.cluster,
        "at": format_time(start.opened_ns),
        "gated": start.gated,
        "forecast": str(forecast.verdict) if forecast is not None else "",
        "forecastVictims": [str(victim.key) for victim in forecast.victims] if forecast is not None else [],
        "result": str(start.result),
        "message": start.message,
        "victims": [
            {"workload": each.workload, "reason": each.reason, "pods": each.pods, "seconds": each.seconds}
            for each in start.losses
        ],
        "caused": _cost(cost_of(start.losses)),
    }


def _choice(episode: Episode, choice: PolicyOutcome) -> Obj:
    cost = charged(episode, choice)
    return {
        "policy": str(choice.policy),
        "cluster": choice.cluster,
        "cost": _cost(cost) if cost is not None else None,
    }


def _cost(cost: PreemptionCost) -> Obj:
    return {"victims": cost.victims, "pods": cost.pods, "podSeconds": cost.pod_seconds}
