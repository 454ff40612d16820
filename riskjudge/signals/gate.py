"""A gate over everything that is known about an item: a fusion, and a router over what it gives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from riskjudge._version import __version__
from riskjudge.calibration import Certificate, Fused, Sample
from riskjudge.data.modes import ModeColumns
from riskjudge.data.source import ScoreSource
from riskjudge.data.trace import Trace, as_trace
from riskjudge.errors import InputError, NotFittedError
from riskjudge.evaluation.summary import Spent
from riskjudge.gate import Router
from riskjudge.gate.binding import mismatches, refuse_mismatch
from riskjudge.gate.document import FUSED, read_json
from riskjudge.gate.labels import hash_texts
from riskjudge.gate.load import gate_from_dict
from riskjudge.gate.outcomes import TAUGHT_FUSION, Outcomes
from riskjudge.gate.router import Prepared
from riskjudge.io.files import replacing
from riskjudge.signals.builtin import parse_signals
from riskjudge.signals.document import (
    fusion_digest,
    fusion_from_dict,
    fusion_to_dict,
)
from riskjudge.signals.fusion import Fusion, fit_fusion
from riskjudge.signals.signal import Cost, Signal
from riskjudge.signals.teaching import (
    fused_trace,
    refuse_taught,
    split_teaching,
    stage_names,
    taught_sample,
)

FORMAT = FUSED
FORMAT_VERSION = 2
_MOST_PLAIN = 8  # modes over which an order is learned


class _FusedRouter(Router):
    """A router over a fused trace, whose sample brings the teaching rows along."""

    fusion: Fusion

    @classmethod
    def over(cls, fusion: Fusion, router: Router) -> Self:
        """A router, fitted or not, that is one over a fusion."""
        made = cls(**router.get_params())
        vars(made).update(vars(router))
        made.fusion = fusion
        return made

    def fresh(self) -> Self:
        return type(self).over(self.fusion, Router(**self.get_params()))

    def prepare(self, trace: Trace, pool: Trace | None = None) -> Prepared:
        prepared = super().prepare(trace, self._strangers(pool))
        fusion, taught = self.fusion, self.fusion.taught
        # Where the teaching rows chose among the modes, they did teach the plain rules something.
        chose = len(trace.modes) - len(fusion.stages) < len(fusion.modes)
        if chose or not taught.drawn_beside(trace):
            return prepared
        sample = replace(prepared.sample, also_tested=taught.one_of_each_group)
        return replace(prepared, sample=sample)

    def sample_of(self, labelled: Trace, pool: Trace | None = None) -> Sample:
        sample = super().sample_of(labelled, pool)
        modes = self._modes(labelled)[len(self.fusion.stages) :]
        plain = tuple(self.fusion.modes.index(mode) for mode in modes)
        return replace(sample, taught=taught_sample(self.fusion, plain).by_verdict())

    def _strangers(self, pool: Trace | None) -> Trace | None:
        """The pool without items that share a group with a teaching row; none may be one."""
        if pool is None:
            return None
        prints = self.fusion.taught.prints
        known = prints.knows(pool.item_id)
        if known.any():
            raise InputError(
                f"the pool holds the item {pool.item_id[known.argmax()]!r}, which taught the fusion "
                f"({int(known.sum())} such items); the pool must be independent of the labelled items"
            )
        if pool.group is None:
            return pool
        return pool.rows(~np.isin(hash_texts(pool.group), prints.groups))


class FusedGate:
    """Teach a fusion with some of the labels, and calibrate it on the others.

    Parameters
    ----------
    alpha, delta : float
        Risk level and significance, as for a :class:`.Router`.
    signals : sequence of Signal or str
        What is fused; texts are read by :func:`.parse_signals`. By default verdict and confidence of
        every mode.
    train_share : float, optional
        Share of the labels that teach; by default chosen by size (see :func:`.rows_to_teach`).
    calibrators : mapping, optional
        From signal families to ``platt``, ``beta`` or ``isotonic``.
    estimator : str or estimator
        ``logistic``, or any object with ``fit`` and ``predict_proba``.
    staged : bool
        A stage for each tier: an item goes on to the next one only if the one before does not
        accept it. The plain modes are not tested then: behind the stages they would be asked of all.
    max_cost : float, optional
        Bound on the mean cost of an item in `unit`, certified together with the risk; needs stages.
        The cost of an item is that of the first stage, and of all stages if it goes on, which is
        exact for two stages and never too low for more.
    unit : str
        ``calls``, ``tokens``, ``money`` or ``seconds``.
    groups : {"refuse", "sample"}
        What to do where labelled items share a group. Teaching rows may share groups.
    seed : int

    Attributes
    ----------
    fusion_ : Fusion
    router_ : Router
        Over the fused modes and the plain ones; holds the certificate.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label = rng.integers(0, 2, 1000)
    >>> u = rng.uniform(0, 0.5, (1000, 3))
    >>> trace = Trace.from_arrays(u, label[:, None] ^ (rng.random((1000, 3)) < u), label)
    >>> gate = FusedGate(alpha=0.1).fit(trace)
    >>> gate.certificate_.certified, gate.certificate_.n_reserved
    (True, 156)
    >>> bool(gate.decide(trace).accepted.mean() > 0.5)
    True
    """

    def __init__(
        self,
        alpha: float = 0.1,
        delta: float = 0.05,
        *,
        signals: Sequence[Signal | str] = ("modes",),
        train_share: float | None = None,
        calibrators: Mapping[str, str] | None = None,
        estimator: Any = "logistic",
        staged: bool = False,
        max_cost: float | None = None,
        unit: str = "money",
        groups: str = "refuse",
        seed: int = 0,
    ) -> None:
        self.alpha = alpha
        self.delta = delta
        self.signals = signals
        self.train_share = train_share
        self.calibrators = calibrators
        self.estimator = estimator
        self.staged = staged or max_cost is not None
        self.max_cost = max_cost
        self.unit = unit
        self.groups = groups
        self.seed = seed

    fusion_: Fusion
    router_: Router
    columns_: tuple[ModeColumns, ...]

    def fit(self, trace: Trace, pool: Trace | None = None, train: Trace | None = None) -> Self:
        """Teach and calibrate.

        Parameters
        ----------
        trace : Trace
            Labelled items; a random share of them teaches and is not tested on.
        pool : Trace, optional
            Unlabelled items, independent of the labelled ones.
        train : Trace, optional
            Labelled items from elsewhere. If given, these teach, and all of `trace` is tested on.

        Raises
        ------
        InputError
            If an item both teaches and is tested, and as :meth:`Router.fit`.
        """
        trace = as_trace(trace)
        pool = None if pool is None else as_trace(pool)
        signals = self.signals_for(trace)
        if train is None:
            teaching, rest = split_teaching(trace, len(signals), self.train_share, self.seed)
        else:
            teaching, rest = train.select(trace.modes), trace
        fusion = fit_fusion(
            teaching,
            signals,
            calibrators=self.calibrators,
            estimator=self.estimator,
            staged=self.staged,
            beside=rest if train is None else None,
            seed=self.seed,
        )
        return self.calibrate(fusion, rest, pool)

    def calibrate(self, fusion: Fusion, trace: Trace, pool: Trace | None = None) -> Self:
        """Calibrate a fusion on labelled items that did not teach it."""
        refuse_taught(fusion, trace)
        seen = trace.select(fusion.modes).sources
        refuse_mismatch(fusion.modes, fusion.sources, seen, "the fusion", "these items")
        stages = len(fusion.stages)
        plain = () if stages > 1 else _plain_modes(fusion)
        router = _FusedRouter.over(
            fusion,
            Router(
                self.alpha,
                self.delta,
                procedure=Fused(stages=stages),
                by_verdict=True,
                groups=self.groups,
                max_retrieval=self._share_past_first(fusion),
                seed=self.seed,
            ),
        )
        digest = _source_of(fusion)
        modes = (*stage_names(fusion), *plain)
        fused = fused_trace(fusion, trace, digest).select(modes)
        more = None if pool is None else fused_trace(fusion, pool, digest).select(modes)
        self.router_ = router.fit(fused, more)
        if router.labels_ is not None:  # the labels that taught are spent, too
            router.labels_ = router.labels_.joined(fusion.taught.prints)
        self.fusion_ = fusion
        self.columns_ = trace.columns
        return self

    def signals_for(self, trace: Trace) -> tuple[Signal, ...]:
        """The signals, with texts read against the trace."""
        found: list[Signal] = []
        for signal in self.signals:
            found += parse_signals([signal], trace) if isinstance(signal, str) else [signal]
        return tuple(found)

    def _share_past_first(self, fusion: Fusion) -> float | None:
        """The share of items past the first stage that the largest mean cost allows."""
        if self.max_cost is None:
            return None
        first, last = (getattr(fusion.stages[t].cost, _known_unit(self.unit)) for t in (0, -1))
        if not first < last:
            raise InputError(
                "a bound on the mean cost needs two stages or more, the later ones dearer: give the "
                f"signals tiers and a cost in {self.unit}"
            )
        if not first < self.max_cost:
            raise InputError(
                f"the first stage alone costs {first:g} {self.unit} an item; a bound of "
                f"{self.max_cost:g} cannot hold"
            )
        share = (self.max_cost - first) / (last - first)
        if share >= 1.0:
            raise InputError(
                f"no item costs more than {last:g} {self.unit}: a bound of {self.max_cost:g} says "
                "nothing; leave it out"
            )
        return float(share)

    def decide(self, trace: Trace, *, on_mismatch: str = "refuse") -> Outcomes:
        """Accept, abstain or fail, item by item.

        Items that taught the fusion are marked in a column ``taught_fusion``, and in
        ``calibrated_on`` like all whose labels the gate has seen.

        Parameters
        ----------
        trace : Trace
        on_mismatch : {"refuse", "uncertify"}
            See :meth:`riskjudge.Router.decide`.
        """
        self._check_fitted()
        trace = as_trace(trace, self.columns_)
        sources = trace.select(self.modes_).sources
        compared = self.modes_, self.sources_, sources, "the gate", "these items"
        if on_mismatch == "refuse":
            refuse_mismatch(*compared)
        outcomes = self.router_.decide(self.seen(trace), on_mismatch=on_mismatch)
        if mismatches(*compared):
            outcomes = replace(outcomes, certified=np.zeros(len(outcomes), dtype=bool))
        if not outcomes.calibrated_on.any():
            return outcomes
        taught = outcomes.calibrated_on.copy()
        taught[taught] = self.fusion_.taught.prints.knows(outcomes.item_id[taught])
        return replace(outcomes, extra=outcomes.extra.assign(**{TAUGHT_FUSION: taught}))

    def seen(self, trace: Trace) -> Trace:
        """A trace as :attr:`router_` sees it: the fused modes, then those that insure them."""
        self._check_fitted()
        plain = trace.select(self.fusion_.modes)
        return fused_trace(self.fusion_, plain, _source_of(self.fusion_)).select(
            self.router_.modes_
        )

    def untaught(self, trace: Trace) -> Trace:
        """The items of a trace that are strangers to the teaching rows: no test of it are the others."""
        self._check_fitted()
        prints = self.fusion_.taught.prints
        known = prints.knows(trace.item_id)
        if trace.group is not None:
            known |= np.isin(hash_texts(trace.group), prints.groups)
        return trace.rows(~known)

    def mean_cost(self, outcomes: Outcomes) -> Cost:
        """Mean cost of the decided items: each pays for the stages that had to be asked."""
        return Cost(**{unit: spent.an_item for unit, spent in self._spent(outcomes).items()})

    def spent(self, outcomes: Outcomes) -> dict[str, Spent] | None:
        """What the decisions cost, by unit; None where no signal has a cost."""
        dearest = self.fusion_.stages[-1].cost
        found = {
            unit: spent
            for unit, spent in self._spent(outcomes).items()
            if getattr(dearest, unit) > 0.0
        }
        return found or None

    def _spent(self, outcomes: Outcomes) -> dict[str, Spent]:
        self._check_fitted()
        stages, used = self.fusion_.stages, np.flatnonzero(self.router_.rule_.used)
        last = used[np.clip(outcomes.asked, 1, max(len(used), 1)) - 1] if len(used) else 0
        # Nobody is asked by a gate that accepts nothing. Modes that insure cost what the stage does.
        paid = np.where(outcomes.asked > 0, np.minimum(last, len(stages) - 1) + 1, 0)
        accepted, n = int(np.count_nonzero(outcomes.accepted)), max(len(outcomes), 1)
        found = {}
        for unit in ("calls", "tokens", "money", "seconds"):
            prices = np.array([0.0, *(getattr(stage.cost, unit) for stage in stages)])
            total = float(prices @ np.bincount(paid, minlength=len(prices)))
            found[unit] = Spent(total, total / n, total / accepted if accepted else None)
        return found

    def to_sql(self, value: str = "mode", dialect: str = "ansi") -> str:
        """No database computes a fusion: refused, with what to do in its place."""
        raise InputError(
            "a fused gate decides by a probability computed from its signals, which is no rule over "
            "columns of a table; let decide write its outcomes, and load these into the database"
        )

    @property
    def fitted(self) -> bool:
        """Whether it was calibrated."""
        return hasattr(self, "router_")

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the router."""
        self._check_fitted()
        return self.router_.certificate_

    @property
    def modes_(self) -> tuple[str, ...]:
        """The modes that a trace needs."""
        self._check_fitted()
        return self.fusion_.modes

    @property
    def sources_(self) -> tuple[ScoreSource | None, ...]:
        """What made the scores of these modes; others are refused."""
        self._check_fitted()
        return self.fusion_.sources

    @property
    def grading_(self) -> None:
        """A fusion is of verdicts 0 and 1, not of scores."""

    def unknown_sources(self, trace: Trace) -> tuple[str, ...]:
        """Modes of which a trace says what made its scores, and the gate does not."""
        seen = trace.select(self.modes_).sources
        both = zip(self.modes_, self.sources_, seen, strict=True)
        return tuple(mode for mode, mine, other in both if mine is None and other is not None)

    @property
    def steps(self) -> tuple[tuple[str, ...], ...]:
        """The modes to be asked at each stage, those of earlier stages left out.

        What stage t accepts needs no mode of a later one. Modes that insure, and those that no signal
        says it needs, are asked with the last stage.
        """
        self._check_fitted()
        if not self.certificate_.certified:
            return ()
        *early, _ = self.fusion_.weighed
        done: list[str] = []
        found = []
        for weighed in early:
            found.append(tuple(m for m in (self.modes_[k] for k in weighed) if m not in done))
            done += found[-1]
        return (*found, tuple(m for m in self.modes_ if m not in done))

    @property
    def notes_(self) -> tuple[str, ...]:
        """What was left out or set aside."""
        self._check_fitted()
        return self.router_.notes_

    @property
    def n_pool_(self) -> int:
        """Unlabelled items that were used."""
        self._check_fitted()
        return self.router_.n_pool_

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, the checksum included."""
        self._check_fitted()
        data: dict[str, Any] = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "riskjudge_version": __version__,
            "columns": [[c.name, c.verdict, c.uncertainty, c.why, c.source] for c in self.columns_],
            "settings": {
                "max_cost": self.max_cost,
                "unit": self.unit,
                "staged": self.staged,
                "train_share": self.train_share,
            },
            "fusion": fusion_to_dict(self.fusion_),
            "router": self.router_.to_dict(),
        }
        return data | {"checksum": _checksum(data)}

    def save(self, path: str | Path) -> None:
        """Write gate and fusion as one versioned JSON file, whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False, default=_plain)
        with replacing(path) as temporary:
            temporary.write_text(text + "\n", "utf-8")

    def _check_fitted(self) -> None:
        if not self.fitted:
            raise NotFittedError("this FusedGate is not fitted; call fit(trace) first")


def load_any_gate(path: str | Path, signals: Sequence[Signal] = ()) -> FusedGate | Router:
    """Read a gate of any kind.

    Parameters
    ----------
    signals : sequence of Signal
        Signals of a fused gate that were passed as functions.
    path : str | Path
        The file.

    Raises
    ------
    InputError
        If the file is missing, damaged, changed by hand, or written by a newer version.
    """
    data = read_json(path, "a gate")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        plain: Router = gate_from_dict(data, str(path))
        return plain
    if data.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{path} has format version {data.get('format_version')!r}; this is riskjudge "
            f"{__version__}, which reads version {FORMAT_VERSION}. Calibrate again"
        )
    if data.get("checksum") != _checksum({k: v for k, v in data.items() if k != "checksum"}):
        raise InputError(
            f"{path} is damaged or was changed by hand: its checksum does not match. Calibrate again"
        )
    router = gate_from_dict(data["router"], str(path))
    assert isinstance(router, Router)
    gate = FusedGate(
        router.alpha, router.delta, groups=router.groups, seed=router.seed, **data["settings"]
    )
    gate.fusion_ = fusion_from_dict(data["fusion"], str(path), signals)
    gate.signals = gate.fusion_.signals
    gate.router_ = _FusedRouter.over(gate.fusion_, router)
    gate.columns_ = tuple(ModeColumns(*values) for values in data["columns"])
    return gate


def _source_of(fusion: Fusion) -> str:
    """The fusion's digest; one that cannot be stored has none."""
    try:
        return fusion_digest(fusion)
    except InputError:
        return "not stored"


def _plain_modes(fusion: Fusion) -> tuple[str, ...]:
    """The modes to insure with: all, or those that the teaching rows show to be wrong least often."""
    wrong = fusion.taught.verdicts != fusion.taught.labels[:, None]
    best = np.argsort(wrong.mean(axis=0), kind="stable")[:_MOST_PLAIN]
    return tuple(fusion.modes[k] for k in sorted(best))


def _known_unit(unit: str) -> str:
    if unit not in ("calls", "tokens", "money", "seconds"):
        raise InputError(f"a cost is in calls, tokens, money or seconds, got {unit!r}")
    return unit


def _checksum(data: Mapping[str, Any]) -> str:
    canonical = json.dumps(data, sort_keys=True, allow_nan=False, default=_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"cannot store {type(value).__name__} in a gate")
