"""A supervised score: how likely the verdict is wrong, learned from features of each item.

A probe may not be trained on the items that a gate is calibrated on. The test behind a certificate
treats the calibration items' scores as given before their labels are looked at; five-fold
cross-validation on the calibration set breaks that, because the score of each item then comes from
the labels of the others. So a :class:`Probe` remembers who trained it, and refuses to score them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riskjudge._typing import FloatArray
from riskjudge.errors import InputError


@dataclass(frozen=True, eq=False)
class Probe:
    """The mean of several classifiers, each trained without one fold of the training items.

    Attributes
    ----------
    models : tuple of estimators
        One fitted classifier a fold.
    trained_on : frozenset of str
        Ids of the training items.
    held_out : ndarray, shape (n_train,)
        Each training item's score from the one classifier that did not see it: to judge the probe
        by, not to calibrate on.
    """

    models: tuple[Any, ...]
    trained_on: frozenset[str]
    held_out: FloatArray

    def uncertainty(self, ids: Sequence[str], features: FloatArray) -> FloatArray:
        """Probability that the verdict is wrong, for items that the probe was not trained on.

        Parameters
        ----------
        ids : sequence of str, length n
        features : ndarray, shape (n, d)

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
            Naming a training item among the ids.
        """
        features = _checked(ids, features)
        for name in ids:
            if name in self.trained_on:
                raise InputError(
                    f"the item {name!r} trained this probe; its score depends on its label, so a "
                    "gate must not be calibrated on it. Score other items"
                )
        return np.asarray(np.mean([_wrong(model, features) for model in self.models], axis=0))


def fit_probe(
    ids: Sequence[str],
    features: FloatArray,
    wrong: Sequence[bool],
    *,
    folds: int = 5,
    seed: int = 0,
    estimator: Any = None,
) -> Probe:
    """Train a probe by cross-fitting on items set aside for it.

    Parameters
    ----------
    ids : sequence of str, length n
        The training items. They must not be used for calibration.
    features : ndarray, shape (n, d)
        Whatever is known without the label: hidden states, embeddings, entropies, lengths.
    wrong : sequence of bool, length n
        Whether the verdict on the item is wrong.
    folds : int
        Number of classifiers; every item is held out from one.
    seed : int
        Of the folds.
    estimator : classifier, optional
        A scikit-learn classifier with ``predict_proba``; a logistic regression on standardised
        features by default.

    Raises
    ------
    InputError
        If ids repeat, shapes differ, a feature is not finite, or a class has fewer items than
        there are folds.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(200, 3))
    >>> wrong = features[:, 0] + rng.normal(size=200) > 1
    >>> probe = fit_probe([f"t{i}" for i in range(200)], features, wrong)
    >>> probe.uncertainty(["new"], np.array([[3.0, 0.0, 0.0]])).round(1)
    array([0.9])
    >>> probe.uncertainty(["t7"], features[7:8])
    Traceback (most recent call last):
    ...
    riskjudge.errors.InputError: the item 't7' trained this probe; ...
    """
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    features = _checked(ids, features)
    target = np.asarray(wrong, dtype=np.int64)
    if target.shape != (len(ids),):
        raise InputError(f"{len(ids)} items and {target.size} outcomes; one each is needed")
    fewest = int(np.bincount(target, minlength=2).min())
    if not 2 <= folds <= fewest:
        raise InputError(
            f"{folds} folds need 2 or more folds and as many wrong and right verdicts each; the "
            f"rarer of the two has {fewest}"
        )
    if estimator is None:
        estimator = make_pipeline(StandardScaler(), LogisticRegression())
    models, held_out = [], np.empty(len(ids))
    splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
    for train, rest in splitter.split(features, target):
        model = clone(estimator).fit(features[train], target[train])
        held_out[rest] = _wrong(model, features[rest])
        models.append(model)
    return Probe(tuple(models), frozenset(ids), held_out)


def _wrong(model: Any, features: FloatArray) -> FloatArray:
    return np.asarray(model.predict_proba(features)[:, 1], dtype=np.float64)


def _checked(ids: Sequence[str], features: FloatArray) -> FloatArray:
    features = np.asarray(features, dtype=np.float64)
    if features.ndim != 2 or len(features) != len(ids):
        raise InputError(
            f"features are a table of shape (items, features) for {len(ids)} items, got "
            f"{features.shape}"
        )
    seen: set[str] = set()
    for name, row in zip(ids, features, strict=True):
        if name in seen:
            raise InputError(f"duplicate id {name!r}")
        if not np.isfinite(row).all():
            raise InputError(f"item {name!r}: a feature is not finite")
        seen.add(name)
    return features
