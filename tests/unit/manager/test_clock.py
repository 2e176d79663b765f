"""The name of the clock that windows are measured with."""

from pathlib import Path

from manager.base.clock import SystemClock, steady_id


def test_F6_two_processes_of_one_boot_share_the_clock() -> None:
    assert SystemClock().steady_id == SystemClock().steady_id


def test_F6_another_boot_or_another_time_namespace_is_another_clock(tmp_path: Path) -> None:
    boot, namespace = tmp_path / "boot", tmp_path / "namespace"
    found = set()
    for name in ("one", "two"):
        boot.write_text(f"{name}\n")
        for place in ("a", "b"):
            namespace.unlink(missing_ok=True)
            namespace.symlink_to(place)
            found.add(steady_id(boot, namespace))
    assert len(found) == 4


def test_F6_a_machine_that_does_not_name_its_boot_has_a_clock_of_its_own(tmp_path: Path) -> None:
    assert steady_id(tmp_path / "none", tmp_path / "none") != steady_id(tmp_path / "none", tmp_path / "none")
