"""Why a plan cannot be made."""


class PlanError(ValueError):
    """A plan that cannot be made, though its manifest is right; the message says why, or what to do."""
