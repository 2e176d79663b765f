"""Metrics of the process: what runs, which configuration is in force, how the journal does."""

from dataclasses import dataclass

from manager.metrics.process import ProcessMetrics

NOW = 1_700_000_000 * 10**9


@dataclass
class Disk:
    """A journal as far as it is shown."""

    dropped: int = 0
    is_degraded: bool = False
    waiting: int = 0


def value(metrics: ProcessMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_a_reload_that_fails_leaves_the_time_of_the_last_that_did_not() -> None:
    now_ns = [NOW]
    made = ProcessMetrics(lambda: now_ns[0], None)
    now_ns[0] += 10**9
    assert value(made, "turnstile_config_last_reload_success_timestamp_seconds") == NOW / 1e9
    made.reloads.note(succeeded=False)
    assert value(made, "turnstile_config_reloads_total", result="failure") == 1
    assert value(made, "turnstile_config_last_reload_successful") == 0
    assert value(made, "turnstile_config_last_reload_success_timestamp_seconds") == NOW / 1e9
    made.reloads.note(succeeded=True)
    assert value(made, "turnstile_config_reloads_total", result="success") == 1
    assert value(made, "turnstile_config_last_reload_successful") == 1
    assert value(made, "turnstile_config_last_reload_success_timestamp_seconds") == NOW / 1e9 + 1


def test_the_journal_is_shown_as_it_is_when_asked() -> None:
    disk = Disk()
    made = ProcessMetrics(lambda: NOW, disk)
    assert value(made, "turnstile_journal_degraded") == 0
    disk.dropped, disk.is_degraded, disk.waiting = 7, True, 3
    assert value(made, "turnstile_journal_degraded") == 1
    assert value(made, "turnstile_journal_entries_dropped_total") == 7
    assert value(made, "turnstile_journal_entries_waiting") == 3


def test_without_a_journal_nothing_is_said_of_it() -> None:
    assert value(ProcessMetrics(lambda: NOW, None), "turnstile_journal_degraded") is None


def test_it_says_which_version_runs() -> None:
    made = ProcessMetrics(lambda: NOW, None)
    (sample,) = (s for f in made.registry.collect() for s in f.samples if s.name == "turnstile_build_info")
    assert sample.value == 1
    assert set(sample.labels) == {"version", "python"}
    assert sample.labels["version"][0].isdigit()
