"""What every converter gives back."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """What a file says, and what it says about itself."""

    text: str
    title: str = ""
    occurred_at: str = ""
    """ISO 8601, empty when the file names no date that can be used."""
