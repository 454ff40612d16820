"""One label: its level of measurement, its spelling, and the categories it may be declared to be of."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any, Self

import numpy as np
import pandas as pd

from riskjudge.errors import InputError


class Level(StrEnum):
    """What the labels mean: names only, an order, differences, or ratios."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"

    @classmethod
    def of(cls, level: str) -> Self:
        """Return the level of that name, or say which there are."""
        try:
            return cls(level)
        except ValueError:
            raise InputError(f"level must be one of {', '.join(cls)}, got {level!r}") from None


def bare(value: Any) -> Any:
    """A plain Python value for one of numpy's."""
    return value.item() if isinstance(value, np.generic) else value


def plain_label(value: Any) -> Any:
    """A label without stray spaces; None for a text that says nothing.

    Examples
    --------
    >>> plain_label(" partly  right "), plain_label("  "), plain_label(2)
    ('partly right', None, 2)
    """
    value = bare(value)
    return (" ".join(value.split()) or None) if isinstance(value, str) else value


def label_key(value: Any) -> Any:
    """What labels have in common that mean the same: a text without its case.

    Examples
    --------
    >>> label_key("Yes") == label_key("yes "), label_key(1.0) == label_key(1)
    (True, True)
    """
    value = plain_label(value)
    return value.casefold() if isinstance(value, str) else value


def label_text(value: Any) -> str | None:
    """A label as text, whatever its type; None where there is none.

    Examples
    --------
    >>> [label_text(value) for value in ("A ", 1.0, True, float("nan"), "")]
    ['a', '1', 'true', None, None]
    """
    value = label_key(value)
    missing = value is None or value is pd.NA or value is pd.NaT
    if missing or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).casefold()


def declared_keys(categories: Sequence[Any], known: Collection[Any], level: Level) -> list[Any]:
    """The declared categories as keys of labels: numbers if the labels are numbers, else texts.

    Parameters
    ----------
    categories : sequence
        As declared, in ascending order; numbers may be written as text.
    known : collection
        Keys of the labels that occur.
    level : Level

    Raises
    ------
    InputError
        If there are fewer than two, one occurs twice, or one is no number where labels are.
    """
    if isinstance(categories, str) or len(categories) < 2:
        raise InputError(f"categories are two or more labels, got {categories!r}")
    numbers = level in (Level.INTERVAL, Level.RATIO)
    numbers |= bool(known) and not any(isinstance(key, str) for key in known)
    keys = [_number(category) if numbers else label_text(category) for category in categories]
    for category, key in zip(categories, keys, strict=True):
        if key is None:
            right = "a number, as the labels are" if numbers else "a label"
            raise InputError(f"the category {category!r} is not {right}")
        if keys.count(key) > 1:
            raise InputError(f"the category {category!r} is declared twice")
    return keys


def _number(category: Any) -> float | None:
    text = label_text(category)
    if text in ("true", "false"):
        return float(text == "true")
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if abs(number) < 1e300 else None
