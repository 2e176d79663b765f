"""The report of shadow mode, as a document; the same from the running daemon and from a journal."""

from collections.abc import Iterable
from typing import Any

from config.api.meta import format_time
from gates.hindsight import Choice, Episode, Start, Toll, charged, tally, toll_of

Obj = dict[str, Any]


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
            "caused": _toll(total.caused),
            "policies": [
                {
                    "policy": str(each.policy),
                    "compared": each.compared,
                    "wouldCause": _toll(each.would_cause),
                    "spared": _toll(each.spared),
                }
                for each in total.policies
            ],
        },
    }


def _episode(episode: Episode) -> Obj:
    return {
        "workload": episode.workload,
        "began": format_time(episode.attempt_ns),
        "settled": episode.is_settled,
        "starts": [_start(start) for start in episode.starts],
        "caused": _toll(episode.caused),
        "breaches": [
            {
                "first": breach.first,
                "second": breach.second,
                "secondsBetween": (breach.second_ns - breach.first_ns) // 1_000_000_000,
                "gated": breach.gated,
            }
            for breach in episode.breaches
        ],
        "choices": [_choice(episode, choice) for choice in episode.choices],
    }


def _start(start: Start) -> Obj:
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
        "caused": _toll(toll_of(start.losses)),
    }


def _choice(episode: Episode, choice: Choice) -> Obj:
    toll = charged(episode, choice)
    return {
        "policy": str(choice.policy),
        "cluster": choice.cluster,
        "toll": _toll(toll) if toll is not None else None,
    }


def _toll(toll: Toll) -> Obj:
    return {"victims": toll.victims, "pods": toll.pods, "podSeconds": toll.pod_seconds}
