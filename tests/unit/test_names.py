"""Our own names never squat in a group that belongs to the Kubernetes community."""

from config import names


def test_own_names_live_under_our_domain() -> None:
    assert names.CONTROLLER_NAME.startswith(f"{names.DOMAIN}/")
    assert not names.DOMAIN.endswith("k8s.io")
