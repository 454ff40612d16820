"""Judges composed from one TOML file.

Each ``[judges.NAME]`` table is a judge; composite ones name the judges they are made of::

    seed = 7             # for every judge that draws at random and has no seed of its own
    run = ["panel"]      # what to run; by default, the judges that no other is made of

    [judges.coin]
    type = "random"

    [judges.trial]
    type = "pairwise"
    judge = "coin"

Types and their options, with examples in ``docs/toml.md``: ``model`` (see
:mod:`riskjudge.judges.model_config`); ``first-slot``, ``second-slot``, ``longest``; ``random`` (`seed`);
``oracle`` (`error_rate`, `seed`); ``constant`` (`score`); ``failing`` (`judge`, `every`, `kind`);
``sidecar`` (`url`, `timeout`, `seed`); ``pairwise`` and ``pointwise-bool`` (`judge`); ``panel``
(`seats`); ``cut`` (`judge`, `cut`, `low`, `high`); ``scope`` (`judge`, and any of `max_chars`,
`subsets`, `pattern`: a regular expression that the prompt must match somewhere); ``gate`` (`judge`,
`uncertainty`, and `threshold`: accept at or below it; or `gate`: the file of a fitted gate);
``router`` (`judges`, asked in order until one gives a verdict; with `gate`, the file of a fitted
router, each is gated at its mode's threshold); ``fused`` (`judges` and `gate`, the file of a fused
gate, which weighs what they say). The `uncertainty` is ``confidence`` (the default of a
`threshold`), ``predictive_entropy``, ``variation_ratio``, ``preference_entropy`` or ``cut``; a fitted
gate's own measure needs no naming. Scores that a fitted gate does not know are refused; with
``on_mismatch = "uncertify"`` its verdicts are disclosed as not certified.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError
from riskjudge.items.item import Item
from riskjudge.judges import scripted
from riskjudge.judges.cascade import Cascade, Gated
from riskjudge.judges.fitted import fitted_route
from riskjudge.judges.limits import Cut, Scoped
from riskjudge.judges.pairs import PairwiseTrial, PointwiseComparison
from riskjudge.judges.panel import Panel
from riskjudge.judges.protocol import Judge
from riskjudge.judges.sidecar import SidecarJudge
from riskjudge.judges.spec import Builder, Spec, Workshop, closest
from riskjudge.ledger.uncertainty import measure_named

if TYPE_CHECKING:
    from riskjudge.llm import Budget, RateLimit


def read_judges(
    path: str | Path,
    builders: Mapping[str, Builder] | None = None,
    *,
    budget: Budget | None = None,
    rate: RateLimit | None = None,
) -> list[Judge]:
    """Compose the judges of a TOML file; the module documents the format.

    Parameters
    ----------
    path : str or path
        The file. Files it names are taken relative to its folder.
    builders : mapping of str to callable, optional
        More judge types by name: a function from a :class:`Spec` to a judge.
    budget : Budget, optional
        What all its models may spend together.
    rate : RateLimit, optional
        How fast they may be asked.

    Returns
    -------
    list of Judge
        Those to run.

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
        return compose(config, path.parent, builders, budget=budget, rate=rate)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def compose(
    config: Mapping[str, Any],
    folder: Path = Path(),
    builders: Mapping[str, Builder] | None = None,
    *,
    budget: Budget | None = None,
    rate: RateLimit | None = None,
) -> list[Judge]:
    """Compose judges from a configuration that is already parsed.

    Parameters
    ----------
    config : mapping
        The parsed TOML.
    folder : path
        What files are relative to.
    builders, budget, rate : mapping, Budget, RateLimit
        As for :func:`read_judges`.

    Returns
    -------
    list of Judge

    Examples
    --------
    >>> judges = {"one": {"type": "first-slot"}, "trial": {"type": "pairwise", "judge": "one"}}
    >>> [(judge.name, judge.mode) for judge in compose({"judges": judges})]
    [('trial', 'pairwise')]
    """
    unknown = set(config) - {"seed", "run", "judges"}
    if unknown:
        entries = ("seed", "run", "judges")
        raise InputError(
            f"unknown entry {min(unknown)!r}{closest(min(unknown), entries)}; there are `seed`, "
            "`run`, `judges`"
        )
    seed = config.get("seed", 0)
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise InputError(f"`seed` is a whole number, got {seed!r}")
    tables = config.get("judges")
    if not isinstance(tables, Mapping) or not tables:
        raise InputError("no [judges.NAME] table")
    workshop = Workshop(tables, folder, {**BUILDERS, **(builders or {})}, seed)
    workshop.budget, workshop.rate = budget, rate
    built = {name: workshop.build(name, ()) for name in tables}
    run = config.get("run", [name for name in tables if name not in workshop.used])
    if not isinstance(run, list) or not run or not all(isinstance(name, str) for name in run):
        raise InputError(f"`run` is a list of judges' names, got {run!r}")
    for name in run:
        if name not in built:
            raise InputError(f"`run`: there is no judge {name!r}{closest(name, built)}")
        if run.count(name) > 1:
            raise InputError(f"`run` names {name!r} twice")
    return [built[name] for name in run]


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


def _measure(spec: Spec) -> str | None:
    name: str | None = spec.text("uncertainty", None)
    try:
        if name is not None:
            measure_named(name)
    except InputError as error:
        spec.complain("uncertainty", str(error))
    return name


def _fitted(spec: Spec, path: Path, judges: Sequence[Judge]) -> Judge:
    """Behind a gate's file: by the measures that it records, unless one is named."""
    uncertainty, on_mismatch = _measure(spec), spec.text("on_mismatch", "refuse")
    try:
        return fitted_route(
            path, judges, spec.name, uncertainty=uncertainty, on_mismatch=on_mismatch
        )
    except InputError as error:
        spec.complain("gate", str(error))
        raise


def _build_gate(spec: Spec) -> Judge:
    named, judge = _measure(spec), spec.judge()
    threshold, path = spec.number("threshold", None), spec.path("gate")
    if threshold is not None and threshold < 0:
        spec.complain("threshold", f"is at least 0, as every uncertainty is, got {threshold!r}")
    if (threshold is None) is (path is None):
        spec.complain("threshold", "a gate has either a `threshold` or a `gate` file")
    if path is not None:
        return _fitted(spec, path, [judge])
    measure = measure_named(named or "confidence")
    return Gated(judge, lambda _, uncertainty: uncertainty <= threshold, measure, name=spec.name)


def _build_router(spec: Spec) -> Judge:
    judges, path = spec.judges("judges"), spec.path("gate")
    if path is not None:
        return _fitted(spec, path, judges)
    return Cascade(judges, spec.name)


def _build_fused(spec: Spec) -> Judge:
    """Behind the file of a fused gate, which is needed: nobody writes a fusion by hand."""
    from riskjudge.judges.fused import fused_from_file

    judges, path = spec.judges("judges"), spec.folder / spec.text("gate")
    uncertainty, on_mismatch = _measure(spec), spec.text("on_mismatch", "refuse")
    try:
        return fused_from_file(
            path, judges, spec.name, uncertainty=uncertainty, on_mismatch=on_mismatch
        )
    except InputError as error:
        spec.complain("gate", str(error))
        raise


def _build_model(spec: Spec) -> Judge:
    # Whoever composes no model needs none of what asking one takes.
    from riskjudge.judges.model_config import build_model

    return build_model(spec)


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
    "fused": _build_fused,
    "model": _build_model,
}
