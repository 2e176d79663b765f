"""Why the daemon cannot do its work, or cannot go on with it; each is one sentence for the one who started it."""


class StartupError(Exception):
    """The daemon cannot do its work here."""


class TakenPathError(StartupError):
    """A path of the configuration is in use by another daemon, or by another program."""


class RivalError(StartupError):
    """Another controller serves the same checks."""
