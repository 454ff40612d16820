"""Judges composed from one TOML file.

Each ``[judges.NAME]`` table is a judge; composite ones name the judges they are made of::

    seed = 7             # for every judge that draws at random and has no seed of its own
    run = ["panel"]      # what to run; by default, the judges that no other is made of

    [judges.coin]
    type = "random"

    [judges.trial]
    type = "pairwise"
    judge = "coin"

Types and their options: ``first-slot``, ``second-slot``, ``longest``; ``random`` (`seed`);
``oracle`` (`error_rate`, `seed`); ``constant`` (`score`); ``failing`` (`judge`, `every`, `kind`);
``sidecar`` (`url`, `timeout`, `seed`); ``pairwise`` and ``pointwise-bool`` (`judge`); ``panel``
(`seats`); ``cut`` (`judge`, `cut`, `low`, `high`); ``scope`` (`judge`, and any of `max_chars`,
`subsets`, `pattern`: a regular expression that the prompt must match somewhere); ``gate`` (`judge`,
`uncertainty`, and `threshold`: accept at or below it; or `gate`: the file of a fitted gate);
``router`` (`judges`, asked in order until one gives a verdict; with `gate`, the file of a fitted
router, and `uncertainty`, each is gated at its mode's threshold). The `uncertainty` is the measure
that the gate was fitted on: ``confidence``, ``variation_ratio``, ``preference_entropy`` or ``cut``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges import scripted
from riskjudge.judges.cascade import Cascade, Gated, gate_from_file, route_from_file
from riskjudge.judges.limits import Cut, Scoped
from riskjudge.judges.pairs import PairwiseTrial, PointwiseComparison
from riskjudge.judges.panel import Panel
from riskjudge.judges.protocol import Judge
from riskjudge.judges.sidecar import SidecarJudge
from riskjudge.ledger.uncertainty import Judged, measure_named

T = TypeVar("T")
Builder = Callable[["Spec"], Judge]
_REQUIRED: Any = object()


def read_judges(path: str | Path, builders: Mapping[str, Builder] | None = None) -> list[Judge]:
    """Compose the judges of a TOML file; the module documents the format.

    Parameters
    ----------
    path
        The file. Files it names are taken relative to its folder.
    builders
        More judge types by name: a function from a :class:`Spec` to a judge.

    Raises
    ------
    InputError
        Naming the table and option: broken TOML, an unknown type or option, a value of the wrong
        kind, a judge that is not there, judges that are made of each other in a circle.
    """
    path = Path(path)
    try:
        config = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML ({error})") from None
    try:
        return compose(config, path.parent, builders)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def compose(
    config: Mapping[str, Any],
    folder: Path = Path(),
    builders: Mapping[str, Builder] | None = None,
) -> list[Judge]:
    """Compose judges from a configuration that is already parsed.

    Examples
    --------
    >>> judges = {"one": {"type": "first-slot"}, "trial": {"type": "pairwise", "judge": "one"}}
    >>> [(judge.name, judge.mode) for judge in compose({"judges": judges})]
    [('trial', 'pairwise')]
    """
    unknown = set(config) - {"seed", "run", "judges"}
    if unknown:
        raise InputError(f"unknown entry {min(unknown)!r}; there are `seed`, `run`, `judges`")
    tables = config.get("judges")
    if not isinstance(tables, Mapping) or not tables:
        raise InputError("no [judges.NAME] table")
    workshop = _Workshop(tables, folder, {**BUILDERS, **(builders or {})}, config.get("seed", 0))
    built = {name: workshop.build(name, ()) for name in tables}
    run = config.get("run", [name for name in tables if name not in workshop.used])
    if not isinstance(run, list) or not run:
        raise InputError("`run` is a list of judges' names")
    for name in run:
        if name not in built:
            raise InputError(f"`run`: there is no judge {name!r}")
    return [built[name] for name in run]


class _Workshop:
    """Builds judges by name, each from its table, and knows which are parts of others."""

    def __init__(
        self, tables: Mapping[str, Any], folder: Path, builders: Mapping[str, Builder], seed: Any
    ) -> None:
        self.tables, self.folder, self.builders, self.seed = tables, folder, builders, seed
        self.used: set[str] = set()

    def build(self, name: str, within: tuple[str, ...]) -> Judge:
        if name in within:
            raise InputError(f"judges made of each other: {' -> '.join((*within, name))}")
        table = self.tables.get(name)
        if not isinstance(table, Mapping):
            raise InputError(f"there is no [judges.{name}]")
        spec = Spec(name, table, self, (*within, name))
        kind = spec.text("type")
        if kind not in self.builders:
            spec.complain("type", f"{kind!r} is none of {', '.join(self.builders)}")
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
        self, name: str, table: Mapping[str, Any], workshop: _Workshop, within: tuple[str, ...]
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
        return value if value is default else float(value)

    def integer(self, option: str, default: Any = _REQUIRED) -> Any:
        """A whole number."""
        return self._get(option, int, "a whole number", default)

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

    def judge(self, option: str = "judge") -> Judge:
        """The judge that an option names."""
        return self._part(option, self.text(option))

    def judges(self, option: str) -> list[Judge]:
        """The judges that an option lists."""
        return [self._part(option, name) for name in self.texts(option)]

    def _part(self, option: str, name: str) -> Judge:
        if name not in self._workshop.tables:
            self.complain(option, f"there is no [judges.{name}]")
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
                self.complain(option, f"is unknown here; the options are {known}")


def _build_failing(spec: Spec) -> Judge:
    kind = spec.text("kind", FailureKind.TIMEOUT.value)
    if kind not in tuple(FailureKind):
        spec.complain("kind", f"{kind!r} is none of {', '.join(FailureKind)}")
    return scripted.FailingEvery(
        spec.judge(), spec.integer("every"), FailureKind(kind), name=spec.name
    )


def _build_sidecar(spec: Spec) -> Judge:
    return SidecarJudge(spec.text("url"), spec.number("timeout", 30.0), spec.seed(), name=spec.name)


def _build_scope(spec: Spec) -> Judge:
    limit = spec.integer("max_chars", None)
    subsets = spec.texts("subsets", None)
    pattern = spec.text("pattern", None)
    if limit is None and subsets is None and pattern is None:
        spec.complain("max_chars", "a scope is bounded by `max_chars`, `subsets` or `pattern`")
    try:
        matches = re.compile(pattern or "").search
    except re.error as error:
        spec.complain("pattern", f"is no regular expression ({error})")

    def in_scope(item: Item) -> bool:
        length = len(item.prompt) + sum(map(len, item.responses))
        return (
            (limit is None or length <= limit)
            and (subsets is None or item.subset in subsets)
            and matches(item.prompt) is not None
        )

    return Scoped(spec.judge(), in_scope, name=spec.name)


def _measure(spec: Spec) -> Callable[[Judged], float | None]:
    try:
        return measure_named(spec.text("uncertainty", "confidence"))
    except InputError as error:
        spec.complain("uncertainty", str(error))
        raise


def _build_gate(spec: Spec) -> Judge:
    measure, judge = _measure(spec), spec.judge()
    threshold, path = spec.number("threshold", None), spec.path("gate")
    if (threshold is None) is (path is None):
        spec.complain("threshold", "a gate has either a `threshold` or a `gate` file")
    if path is not None:
        return gate_from_file(path, judge, measure, spec.name)
    return Gated(judge, lambda _, uncertainty: uncertainty <= threshold, measure, name=spec.name)


def _build_router(spec: Spec) -> Judge:
    judges, path = spec.judges("judges"), spec.path("gate")
    if path is not None:
        return route_from_file(path, judges, _measure(spec), spec.name)
    return Cascade(judges, spec.name)


BUILDERS: Mapping[str, Builder] = {
    "first-slot": lambda spec: scripted.first_slot(spec.name),
    "second-slot": lambda spec: scripted.second_slot(spec.name),
    "longest": lambda spec: scripted.longest(spec.name),
    "random": lambda spec: scripted.random_judge(spec.seed(), spec.name),
    "oracle": lambda spec: scripted.oracle(spec.number("error_rate", 0.0), spec.seed(), spec.name),
    "constant": lambda spec: scripted.constant(spec.number("score"), spec.name),
    "failing": _build_failing,
    "sidecar": _build_sidecar,
    "pairwise": lambda spec: PairwiseTrial(spec.judge(), spec.name),
    "pointwise-bool": lambda spec: PointwiseComparison(spec.judge(), spec.name),
    "panel": lambda spec: Panel(spec.judges("seats"), spec.name),
    "cut": lambda spec: Cut(
        spec.judge(),
        spec.number("cut"),
        spec.number("low", 0.0),
        spec.number("high", 1.0),
        spec.name,
    ),
    "scope": _build_scope,
    "gate": _build_gate,
    "router": _build_router,
}
