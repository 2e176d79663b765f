"""Which rules a version has, and what is said where they are assumed."""

from dataclasses import fields
from pathlib import Path

import pytest

from engine.versions.profiles import REFERENCE_PROFILE, profile_of
from engine.versions.switches import Switches
from engine.versions.version import KueueVersion, KueueVersionError, value_at


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("v0.19.2", KueueVersion(0, 19, 2)),
        ("0.19.2", KueueVersion(0, 19, 2)),
        (" v0.19 ", KueueVersion(0, 19)),
        ("v0.20.0-rc.1", KueueVersion(0, 20, 0, "-rc.1")),
        ("v0.19.0-12-gabcdef", KueueVersion(0, 19, 0, "-12-gabcdef")),
        ("v1.0.0", KueueVersion(1, 0, 0)),
    ],
)
def test_a_version_is_read(text: str, want: KueueVersion) -> None:
    assert KueueVersion.parse(text) == want


@pytest.mark.parametrize("text", ["", "latest", "v0", "0.19.2.1", "v0.19.x", "v0.19.-2", "v99999.1.0", "v0.1 9", "٣.٤"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(KueueVersionError, match="is not allowed: must be like v0"):
        profile_of(text)


@pytest.mark.parametrize(
    ("version", "want"),
    [("v0.18.4", None), ("v0.18.5", "a"), ("v0.18.99", "a"), ("v0.19.0", "b"), ("v0.19.1", "a"), ("v0.19", "a")],
)
def test_a_value_holds_until_the_next_change(version: str, want: str | None) -> None:
    assert value_at("0.18.5:a 0.19.0:b 0.19.1:a", KueueVersion.parse(version)) == want


@pytest.mark.parametrize("version", ["v0.17.1", "v0.18.3", "v0.19.0", "v0.19.1", "v0.19.2", "0.19.2"])
def test_compared_versions_are_exact(version: str) -> None:
    assert profile_of(version).assumption is None
    assert profile_of(version).is_named


@pytest.mark.parametrize(
    ("version", "want"),
    [
        ("v0.13.0", "Kueue v0.13.0 is older than v0.15.0, the oldest version known here, whose rules are assumed"),
        ("v0.15.8", "the rules of Kueue v0.15.8 are taken from its sources and release notes, not compared with it"),
        ("v0.16", "the rules of Kueue v0.16 are taken from its sources and release notes, not compared with it"),
        ("v0.17.0", "Kueue v0.17.0 was not compared: its rules are those of v0.17.1 with the known differences"),
        ("v0.18", "the patch of Kueue v0.18 is not known: the newest known rules of its line are assumed"),
        ("v0.19.3", "Kueue v0.19.3 is newer than v0.19.2, the newest patch compared with it, whose rules are assumed"),
        ("v0.20.0", "the rules of Kueue v0.20.0 are taken from its sources and release notes, not compared with it"),
        ("v0.20", "the rules of Kueue v0.20 are taken from its sources and release notes, not compared with it"),
        ("v0.20.3", "Kueue v0.20.3 is newer than v0.20.0, whose rules as released are assumed"),
        ("v0.21.0", "Kueue v0.21.0 is newer than v0.20.0, whose rules as released are assumed"),
        ("v1.2.0", "Kueue v1.2.0 is newer than v0.20.0, whose rules as released are assumed"),
        ("v0.19.2-rc.0", "Kueue v0.19.2-rc.0 is not a release: the rules known of v0.19 are assumed"),
    ],
)
def test_every_other_version_says_what_is_assumed(version: str, want: str) -> None:
    assert profile_of(version).assumption == want


def test_an_unknown_version_is_the_reference() -> None:
    assert profile_of(None) is REFERENCE_PROFILE
    assert not REFERENCE_PROFILE.is_named
    assert REFERENCE_PROFILE.switches == Switches() == profile_of("v0.19.1").switches == profile_of("v0.19.2").switches


def test_a_version_older_than_all_known_has_the_rules_of_the_oldest() -> None:
    assert profile_of("v0.14.8").switches == profile_of("v0.15.0").switches
    assert profile_of("v0.14.8").gate_table.stages == profile_of("v0.15.0").gate_table.stages


@pytest.mark.parametrize("switch", [each.name for each in fields(Switches)])
def test_each_switch_tells_two_known_versions_apart(switch: str) -> None:
    versions = ("v0.15.0", "v0.16.9", "v0.17.1", "v0.18.3", "v0.19.0", "v0.19.2", "v0.20.0")
    assert len({getattr(profile_of(version).switches, switch) for version in versions}) == 2


def test_the_table_in_the_docs_is_that_of_the_code() -> None:
    versions = ("v0.15.0", "v0.16.9", "v0.17.1", "v0.18.3", "v0.19.0", "v0.19.2", "v0.20.0")
    page = (Path(__file__).parents[4] / "docs" / "engine.md").read_text()
    for switch in fields(Switches):
        values = ("yes" if getattr(profile_of(version).switches, switch.name) else "" for version in versions)
        row = f"| {switch.metadata['effect']} | {' | '.join(values)} |"
        assert row.replace("|  |", "| |").replace("|  |", "| |") in page, row
