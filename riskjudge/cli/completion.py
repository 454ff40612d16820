"""What the shell offers where an option has choices; nothing is imported before it is asked."""

from __future__ import annotations

from collections.abc import Callable


def one_of(*choices: str) -> Callable[[str], list[str]]:
    """What the shell offers for an option with these choices."""
    return lambda incomplete: [choice for choice in choices if choice.startswith(incomplete)]


def procedures(incomplete: str) -> list[str]:
    """The procedures whose names begin like this, for the shell."""
    from riskjudge.calibration import PROCEDURES

    return one_of(*PROCEDURES)(incomplete)


def formats(incomplete: str) -> list[str]:
    """Formats of other tools whose names begin like this, for the shell."""
    from riskjudge.readers import FORMATS

    return one_of(*FORMATS)(incomplete)
