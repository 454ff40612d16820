"""Hashes by which labelled items are known again: labels that a choice has seen are spent for it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from riskjudge._typing import BoolArray, FloatArray
from riskjudge.data.trace import Trace
from riskjudge.errors import InputError

Hashes = NDArray[np.uint64]

_LONG = 10  # significant digits from which an equal score is hardly a coincidence
_FEW = 3  # equal long scores under other ids that are too many
_NEVER = 1e-6  # largest probability of taking independent samples for copies of each other
_DIGITS = 16  # of a hash, hexadecimal


@dataclass(frozen=True, slots=True, eq=False)
class LabelPrints:
    """What is kept of labelled items: hashes of their ids, groups and contents, nothing else.

    A hash is eight bytes of SHA-256. It tells equal things, not what they are (but whoever guesses
    an id can check the guess).

    Attributes
    ----------
    ids, groups : ndarray of uint64
        Sorted and distinct; `groups` is empty where the items have none.
    contents : tuple of ndarray of uint64, length K
        Of (label, verdict, score) in each mode, sorted, with repetitions. The lowest bit is set
        where the score has ten significant digits or more.

    Examples
    --------
    >>> trace = Trace.from_arrays(np.array([[0.1], [0.6]]), np.array([[1], [0]]), np.array([1, 1]))
    >>> prints = LabelPrints.of(trace)
    >>> prints.shared_with(LabelPrints.of(trace.rows(np.array([1]))))
    '1 of the items, by id'
    """

    ids: Hashes
    groups: Hashes
    contents: tuple[Hashes, ...]

    @classmethod
    def of(cls, trace: Trace) -> LabelPrints:
        """Of the labelled items of a trace."""
        kept = trace.rows(trace.labelled)
        groups = () if kept.group is None else kept.group
        contents = content_hashes(kept)
        return cls(
            np.unique(hash_texts(kept.item_id)),
            np.unique(hash_texts(groups)),
            tuple(np.sort(column[column > 0]) for column in contents.T),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def shared_with(self, other: LabelPrints) -> str | None:
        """What the two have in common, in words; None if nothing.

        Ids and groups tell by themselves. Contents find items under other ids: scores are compared
        in each mode, among those that occur once on either side. Three equal scores of ten digits
        or more are no coincidence (unless such scores repeat within a side, too). For any other
        scores, let D values occur twice in both samples together. If the samples were independent
        and of one population, each such pair would lie across the two with probability
        ``q = 2 a b / ((a + b) (a + b - 1))``; more than Binomial(D, q) explains is a copy. Scores
        of few distinct values tell nothing: then only ids and groups do.
        """
        if n := len(np.intersect1d(self.ids, other.ids)):
            return f"{n} of the items, by id"
        if n := len(np.intersect1d(self.groups, other.groups)):
            return f"{n} of the groups that items come from"
        copied = max((_copies(a, b) for a in self.contents for b in other.contents), default=0)
        return f"{copied} items under other ids, by scores and labels" if copied else None

    def knows(self, item_id: Iterable[object]) -> BoolArray:
        """Which of these ids are among the items."""
        return np.isin(hash_texts(item_id), self.ids)

    def joined(self, other: LabelPrints) -> LabelPrints:
        """The items of both."""
        return LabelPrints(
            np.union1d(self.ids, other.ids),
            np.union1d(self.groups, other.groups),
            (*self.contents, *other.contents),
        )

    @property
    def digest(self) -> str:
        """One hash of the whole."""
        return digest_of(self.ids, self.groups, *self.contents)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: hashes one after the other, sixteen hexadecimal digits each."""
        return {
            "ids": as_text(self.ids),
            "groups": as_text(self.groups),
            "contents": [as_text(column) for column in self.contents],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LabelPrints:
        """The inverse of :meth:`to_dict`."""
        contents = tuple(from_text(column) for column in data["contents"])
        return cls(from_text(data["ids"]), from_text(data["groups"]), contents)


def _copies(a: Hashes, b: Hashes) -> int:
    """Items of b that are items of a, as far as their contents tell; 0 if it may be chance."""
    values, place = np.unique(np.concatenate((a, b)), return_inverse=True)
    in_a = np.bincount(place[: len(a)], minlength=len(values))
    in_b = np.bincount(place[len(a) :], minlength=len(values))
    across = (in_a == 1) & (in_b == 1)
    within = (in_a + in_b == 2) & ~across
    long = (values & np.uint64(1)).astype(bool)
    if np.count_nonzero(across & long) >= _FEW and not (within & long).any():
        return int(np.count_nonzero(across & long))
    found, total = int(across.sum()), len(a) + len(b)
    if found == 0:
        return 0
    by_chance = 2.0 * len(a) * len(b) / (total * (total - 1.0))
    tail = special.bdtrc(found - 1, found + int(within.sum()), by_chance)
    return found if tail <= _NEVER else 0


def hash_texts(texts: Iterable[object]) -> Hashes:
    """Eight bytes of SHA-256 of each text, in the order given."""
    found = [hashlib.sha256(str(text).encode()).digest()[:8] for text in texts]
    return np.array([int.from_bytes(h, "big") for h in found], dtype=np.uint64)


def digest_of(*parts: Hashes) -> str:
    """One hash of several lists of hashes."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part.astype(">u8").tobytes())
    return whole.hexdigest()


def fingerprint_of(scores: FloatArray) -> str:
    """One hash of a pool's scores, whatever the order of its rows.

    Single precision: formats of files differ in the last digits.
    """
    rows = scores.astype(np.float32)
    return hashlib.sha256(rows[np.lexsort(rows.T)].tobytes()).hexdigest()


def content_hashes(trace: Trace) -> Hashes:
    """Hash of (label, verdict, score) of each item in each mode, shape (n, K); 0 without a score."""
    found = np.zeros(trace.scores.shape, dtype=np.uint64)
    for i, k in np.argwhere(~np.isnan(trace.scores)):
        score = f"{trace.scores[i, k]:.12g}"  # formats differ in the last digits
        text = f"{trace.labels[i]} {trace.verdicts[i, k]} {score}"
        long = len(score.partition("e")[0].replace(".", "").lstrip("-0")) >= _LONG
        # Never 0, and the lowest bit says how much an equal hash means.
        found[i, k] = np.uint64((int(hash_texts([text])[0]) | 3) - (not long))
    return found


def row_hashes(trace: Trace) -> Hashes:
    """One hash of label, verdicts and scores of each item: whether anything of it has changed."""
    contents = content_hashes(trace)
    return hash_texts(
        f"{label} {' '.join(map(str, row))}"
        for label, row in zip(trace.labels, contents, strict=True)
    )


def as_text(hashes: Hashes) -> str:
    """Hashes as one text."""
    return hashes.astype(">u8").tobytes().hex()


def from_text(text: str) -> Hashes:
    """The inverse of :func:`as_text`."""
    if len(text) % _DIGITS:
        raise InputError(f"hashes have {_DIGITS} digits each, got {len(text)} digits")
    return np.frombuffer(bytes.fromhex(text), dtype=">u8").astype(np.uint64)
