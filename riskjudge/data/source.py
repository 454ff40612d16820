"""What made the scores of a mode: the facts that a certificate is bound to."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from riskjudge.errors import InputError

Fact = str | int | float | bool
UNKNOWN = "unknown"


class ScoreSource(Mapping[str, Fact]):
    """Facts about how one mode's verdicts and uncertainties came about.

    Scores of another model, prompt, measure or corpus follow another distribution, so thresholds
    calibrated on some mean nothing on others. A trace carries a source for each mode, a gate keeps
    it, and whoever applies the gate compares.

    Parameters
    ----------
    facts : mapping of str to str, int, float or bool
        By name: ``measure``, ``model``, ``prompt``, ``score``, ``samples``, ``temperature``,
        ``retriever``, ``corpus``, ``k``, ``endpoint`` … Any other name may be used.

    Raises
    ------
    InputError
        If a name is empty, or a value is none of these kinds or not finite.

    Examples
    --------
    >>> fitted = ScoreSource({"model": "small", "k": 3})
    >>> str(fitted)
    '{"k":3,"model":"small"}'
    >>> fitted.differences(ScoreSource({"model": "large", "k": 3}))
    ("model: 'small' in the one, 'large' in the other",)
    """

    __slots__ = ("_facts",)

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        kept: dict[str, Fact] = {}
        for name in sorted(facts, key=str):
            value: object = facts[name]
            if not isinstance(name, str) or not name:
                raise InputError(f"a fact about a source has a name, got {name!r}")
            if not isinstance(value, str | int | float | bool) or (
                isinstance(value, float) and not math.isfinite(value)
            ):
                raise InputError(
                    f"the fact {name!r} about a source is a text, a finite number or true/false, "
                    f"got {value!r}"
                )
            # 1.0 and 1 are one temperature, whatever a file made of them.
            whole = isinstance(value, float) and value.is_integer()
            kept[name] = int(value) if whole else value
        self._facts: dict[str, Fact] = kept

    @classmethod
    def parse(cls, text: str) -> ScoreSource:
        """The inverse of ``str``.

        Parameters
        ----------
        text : str
            A JSON object.

        Raises
        ------
        InputError
            If the text is no flat JSON object.
        """
        try:
            facts: Any = json.loads(text)
        except (ValueError, RecursionError):
            raise InputError(f"a source is a JSON object, got {text[:80]!r}") from None
        if not isinstance(facts, dict):
            raise InputError(f"a source is a JSON object, got {text[:80]!r}")
        return cls(facts)

    def differences(
        self, other: ScoreSource | None, here: str = "the one", there: str = "the other"
    ) -> tuple[str, ...]:
        """Where two sources differ, in words; nothing where they agree.

        Parameters
        ----------
        other : ScoreSource or None
            None where nothing is known.
        here, there : str
            What the two are called.
        """
        if other is None:
            return (
                f"nothing is known of what made the scores in {there}; in {here} it was {self}",
            )
        found = []
        for name in sorted(self.keys() | other.keys()):
            mine, theirs = self.get(name), other.get(name)
            # True is no 1 here, although Python says so.
            if mine != theirs or isinstance(mine, bool) is not isinstance(theirs, bool):
                said = [UNKNOWN if v is None else repr(v) for v in (mine, theirs)]
                found.append(f"{name}: {said[0]} in {here}, {said[1]} in {there}")
        return tuple(found)

    def __getitem__(self, name: str) -> Fact:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __hash__(self) -> int:
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScoreSource) and str(self) == str(other)

    def __str__(self) -> str:
        return json.dumps(self._facts, separators=(",", ":"), ensure_ascii=False)

    def __repr__(self) -> str:
        return f"ScoreSource({self._facts!r})"
