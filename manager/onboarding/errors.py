"""What keeps a worker from being added, removed or given a new token."""


class OnboardingError(Exception):
    """One sentence for the operator; nothing secret is in it."""


class UnfitInputError(OnboardingError):
    """What was named is not there, or cannot be meant."""
