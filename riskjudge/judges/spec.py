"""One table of a configuration of judges, read option by option."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskjudge.errors import InputError
from riskjudge.judges.protocol import Judge

if TYPE_CHECKING:
    from riskjudge.llm import Budget, RateLimit

Builder = Callable[["Spec"], Judge]
_REQUIRED: Any = object()


def closest(name: str, known: Iterable[str]) -> str:
    """A hint at the name that was probably meant, or nothing.

    Parameters
    ----------
    name : str
        What was written.
    known : iterable of str
        What there is.

    Returns
    -------
    str

    Examples
    --------
    >>> closest("treshold", ["threshold", "judge"])
    "; did you mean 'threshold'?"
    """
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


class Workshop:
    """Builds judges by name, each from its table, and knows which are parts of others."""

    def __init__(
        self, tables: Mapping[str, Any], folder: Path, builders: Mapping[str, Builder], seed: Any
    ) -> None:
        self.tables, self.folder, self.builders, self.seed = tables, folder, builders, seed
        self.used: set[str] = set()
        self.budget: Budget | None = None
        self.rate: RateLimit | None = None

    def build(self, name: str, within: tuple[str, ...]) -> Judge:
        if name in within:
            raise InputError(f"judges made of each other: {' -> '.join((*within, name))}")
        table = self.tables.get(name)
        if not isinstance(table, Mapping):
            raise InputError(f"[judges.{name}] is a table of options, got {table!r}")
        spec = Spec(name, table, self, (*within, name))
        kind = spec.text("type")
        if kind not in self.builders:
            near = closest(kind, self.builders)
            spec.complain("type", f"{kind!r} is none of {', '.join(self.builders)}{near}")
        try:
            judge = self.builders[kind](spec)
        except InputError as error:
            text = str(error)
            raise InputError(text if text.startswith("[") else f"[judges.{name}]: {text}") from None
        spec.refuse_leftovers()
        return judge


class Spec:
    """One ``[judges.NAME]`` table, read option by option; what is left over is an error."""

    def __init__(
        self, name: str, table: Mapping[str, Any], workshop: Workshop, within: tuple[str, ...]
    ) -> None:
        self.name = name
        self._table, self._workshop, self._within = table, workshop, within
        self._read: set[str] = set()

    def complain(self, option: str, problem: str) -> None:
        """Raise `InputError` about an option of this table."""
        raise InputError(f"[judges.{self.name}] `{option}`: {problem}")

    def _get(self, option: str, kinds: type | tuple[type, ...], what: str, default: Any) -> Any:
        self._read.add(option)
        value = self._table.get(option, default)
        if value is _REQUIRED:
            self.complain(option, f"is missing; it is {what}")
        if value is default:
            return value
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            self.complain(option, f"is {what}, got {value!r}")
        return value

    def text(self, option: str, default: Any = _REQUIRED) -> Any:
        """A text."""
        return self._get(option, str, "a text", default)

    def number(self, option: str, default: Any = _REQUIRED) -> Any:
        """A number, as a float."""
        value = self._get(option, (int, float), "a number", default)
        if value is default:
            return value
        # A comparison, because a whole number may be too large for a float.
        if not -1e300 <= value <= 1e300:
            self.complain(option, f"is a finite number, got {value!r}")
        return float(value)

    def integer(self, option: str, default: Any = _REQUIRED) -> Any:
        """A whole number."""
        return self._get(option, int, "a whole number", default)

    def boolean(self, option: str, default: bool) -> bool:
        """True or false."""
        found: bool = self._get(option, bool, "true or false", default)
        return found

    def table(self, option: str) -> Mapping[str, Any]:
        """A table of values; empty if it is left out."""
        found: Mapping[str, Any] = self._get(option, dict, "a table", {})
        return found

    def texts(self, option: str, default: Any = _REQUIRED) -> Any:
        """A list of texts."""
        values = self._get(option, list, "a list of texts", default)
        if values is not default and not all(isinstance(value, str) for value in values):
            self.complain(option, f"is a list of texts, got {values!r}")
        return values

    def seed(self) -> int:
        """This judge's own seed, or that of the file."""
        seed: int = self.integer("seed", self._workshop.seed)
        return seed

    @property
    def folder(self) -> Path:
        """What files are relative to."""
        return self._workshop.folder

    @property
    def budget(self) -> Budget | None:
        """What all models of the configuration may spend together."""
        return self._workshop.budget

    @property
    def rate(self) -> RateLimit | None:
        """How fast they may be asked."""
        return self._workshop.rate

    def judge(self, option: str = "judge") -> Judge:
        """The judge that an option names."""
        return self._part(option, self.text(option))

    def judges(self, option: str) -> list[Judge]:
        """The judges that an option lists."""
        return [self._part(option, name) for name in self.texts(option)]

    def _part(self, option: str, name: str) -> Judge:
        if name not in self._workshop.tables:
            near = closest(name, self._workshop.tables)
            self.complain(option, f"there is no [judges.{name}]{near}")
        self._workshop.used.add(name)
        return self._workshop.build(name, self._within)

    def path(self, option: str) -> Path | None:
        """A file, relative to the configuration's folder."""
        text = self.text(option, None)
        return None if text is None else self._workshop.folder / text

    def refuse_leftovers(self) -> None:
        """Raise `InputError` about the first option that nothing read."""
        for option in self._table:
            if option not in self._read:
                known = ", ".join(sorted(self._read))
                near = closest(option, self._read)
                self.complain(option, f"is unknown here{near}; the options are {known}")
