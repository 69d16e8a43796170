"""The one error that only a server has."""

from overstory.errors import UsageError


class NotThereError(UsageError):
    """What a request names is not there."""
