"""Checks of settings that many rooms take."""

from __future__ import annotations

from numbers import Integral

from riskjudge.errors import InputError


def check_count(value: object, name: str, least: int = 1) -> int:
    """A whole number of at least `least`.

    Raises
    ------
    InputError
        Otherwise; the message names the setting.

    Examples
    --------
    >>> check_count(3, "splits")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(f"{name} must be a whole number from {least} on, got {value!r}")
    return int(value)


def check_level(value: float, name: str) -> float:
    """Return `value` as a float if it lies strictly between 0 and 1.

    Raises
    ------
    InputError
        Otherwise; the message carries `name`.
    """
    try:
        level = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number between 0 and 1, got {value!r}") from None
    if not 0.0 < level < 1.0:
        raise InputError(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return level
