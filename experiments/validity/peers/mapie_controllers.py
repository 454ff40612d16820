"""MAPIE's controllers: learn-then-test over fixed thresholds (``pip install mapie``)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from base import OneModePeer, Peer, confidence, score_of

from riskjudge._typing import BoolArray, FloatArray
from riskjudge.calibration import Guarantee
from riskjudge.calibration.sample import Sample
from riskjudge.counts import NONE


@dataclass(frozen=True, kw_only=True)
class MapieOneMode(OneModePeer):
    """``BinaryClassificationController`` on the precision of one mode's verdicts.

    "Positive" is "accepted", the target is precision >= 1 - alpha, the thresholds are MAPIE's 100
    (Bonferroni, Holm) or 20 from the surest down (fixed sequence). Its p-values are the
    Hoeffding-Bentkus ones.
    """

    name: ClassVar[str] = "MAPIE Holm, one mode"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    source: ClassVar[str] = "the package"
    checked: ClassVar[str] = "runs the package itself"
    fwer: ClassVar[str] = "bonferroni_holm"

    def threshold(
        self, scores: FloatArray, errors: BoolArray, alpha: float, delta: float
    ) -> float | None:
        from mapie.risk_control import BinaryClassificationController, precision

        surest_first = np.round(np.arange(0.95, -0.01, -0.05), 2)
        grid = surest_first if self.fwer == "fixed_sequence" else np.linspace(0, 0.99, 100)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller = BinaryClassificationController(
                _two_columns,
                precision,
                target_level=1 - alpha,
                confidence_level=1 - delta,
                best_predict_param_choice="recall",
                list_predict_params=grid,
                fwer_method=self.fwer,
            ).calibrate(confidence(scores), (~errors).astype(int))
        best = controller.best_predict_param
        return None if best is None else score_of(float(best))


@dataclass(frozen=True, kw_only=True)
class MapieBonferroni(MapieOneMode):
    """The same with Bonferroni's correction."""

    name: ClassVar[str] = "MAPIE Bonferroni, one mode"
    fwer: ClassVar[str] = "bonferroni"


@dataclass(frozen=True, kw_only=True)
class MapieFixedSequence(MapieOneMode):
    """The same by fixed sequence testing."""

    name: ClassVar[str] = "MAPIE fixed sequence, one mode"
    fwer: ClassVar[str] = "fixed_sequence"


def _two_columns(trust: FloatArray) -> FloatArray:
    return np.column_stack((1.0 - trust, trust))


@dataclass(frozen=True, kw_only=True)
class MapieGrid(Peer):
    """The same controller bent to two modes: a grid of threshold pairs, fixed in advance.

    The predict function returns the first mode's verdict, else the second's, else NaN; the risk is
    the share of wrong verdicts among those that are not NaN.
    """

    name: ClassVar[str] = "MAPIE Holm, 30 x 30 pairs"
    guarantee: ClassVar[Guarantee] = Guarantee.HIGH_PROBABILITY
    source: ClassVar[str] = "the package"
    checked: ClassVar[str] = "runs the package itself"
    fwer: str = "bonferroni_holm"
    steps: int = 30

    def rule(self, sample: Sample, alpha: float, delta: float, seed: int) -> FloatArray | None:
        if sample.n_modes != 2:
            return None
        from mapie.risk_control import BinaryClassificationController, BinaryRisk

        # The last level accepts nothing in that mode.
        axis = np.append(np.linspace(0.0, 0.99, self.steps - 1), 2.0)
        pairs = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T[:-1]
        trust = np.nan_to_num(confidence(sample.scores), nan=-1.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller = BinaryClassificationController(
                _route,
                BinaryRisk(_wrong, _accepted, higher_is_better=False),
                target_level=alpha,
                confidence_level=1 - delta,
                best_predict_param_choice=BinaryRisk(_accepted, _any, higher_is_better=True),
                list_predict_params=pairs,
                fwer_method=self.fwer,
            ).calibrate(np.column_stack((trust, sample.verdicts)), sample.labels)
        best: Any = controller.best_predict_param
        if best is None:
            return None
        return np.array([NONE if level > 1 else score_of(float(level)) for level in best])


def _route(items: FloatArray, *levels: float) -> FloatArray:
    t1, t2 = levels if len(levels) == 2 else levels[0]
    second = np.where(items[:, 1] >= t2, items[:, 3], np.nan)
    return np.where(items[:, 0] >= t1, items[:, 2], second)


def _wrong(y_true: FloatArray, y_pred: FloatArray) -> BoolArray:
    return np.asarray(y_pred != y_true)


def _accepted(y_true: FloatArray, y_pred: FloatArray) -> BoolArray:
    return np.asarray(y_pred == y_pred)


def _any(y_true: FloatArray, y_pred: FloatArray) -> BoolArray:
    return np.ones(np.shape(y_pred), dtype=bool)
