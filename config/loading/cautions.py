"""Settings that are allowed and that their owner should know about."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from config.sections.cost import CostControllerSection
from config.sections.sections import DispatcherSection
from config.sections.settings import Configuration
from config.types.choices import DispatcherMode
from config.types.duration import format_duration

Caution = tuple[tuple[str, ...], str]
"""The field, in the model's names, and a sentence."""

SHORT_PREEMPTION_TIMEOUT: Final = timedelta(seconds=120)
PRIORITY_BOOST_CAUTION: Final = (
    "a boost changes more than the order of victims: also who may preempt whom, and the order in the queues"
)


def cautions(configuration: Configuration) -> Iterator[Caution]:
    """Yield what deserves a warning."""
    timeout = configuration.gates.single_cluster_preemption_timeout
    if timeout < SHORT_PREEMPTION_TIMEOUT:
        yield (
            ("gates", "single_cluster_preemption_timeout"),
            f"{format_duration(timeout)} is short: victims rarely end within it, so that several workers may preempt",
        )
    if not configuration.gc_interval:
        yield ("gc_interval",), "garbage collection is off: orphaned replicas stay on the workers for ever"
    if not configuration.leader_election.enabled:
        yield ("leader_election", "enabled"), "leader election is off: never run a second instance"
    yield from _cost_cautions(configuration.cost_controller)
    yield from _dispatcher_cautions(configuration.dispatcher)


def _cost_cautions(costs: CostControllerSection) -> Iterator[Caution]:
    if costs.priority_boost.is_on:
        yield ("cost_controller", "priority_boost"), PRIORITY_BOOST_CAUTION
    if costs.model == "checkpoint" and not costs.refresh_interval:
        yield (
            ("cost_controller", "refresh_interval"),
            "costs of the model checkpoint grow with time, and are not refreshed",
        )


def _dispatcher_cautions(dispatcher: DispatcherSection) -> Iterator[Caution]:
    is_set = dispatcher.forecast_round_timeout != DispatcherSection.model_fields["forecast_round_timeout"].default
    if is_set and dispatcher.mode is not DispatcherMode.FORECAST_FIRST:
        text = f"has no effect with mode {dispatcher.mode}: only ForecastFirst tries one worker alone"
        yield ("dispatcher", "forecast_round_timeout"), text
    if dispatcher.mode is DispatcherMode.INCREMENTAL:
        return
    for field in ("step_size", "round_timeout"):
        if getattr(dispatcher, field) != DispatcherSection.model_fields[field].default:
            yield ("dispatcher", field), f"has no effect with mode {dispatcher.mode}: only Incremental has rounds"
