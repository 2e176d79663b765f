"""What keeps a worker from being added, removed or given a new token."""


class OnboardingError(Exception):
    """One sentence for the operator; nothing secret is in it."""


class NoSuchWorkerError(OnboardingError):
    """The hub has no worker of that name."""
