"""What the reliability commands print."""

from __future__ import annotations

from collections.abc import Sequence

from riskjudge.display.table import UNDEFINED, Table, percent
from riskjudge.reliability.bias import JudgeBias
from riskjudge.reliability.bounded import Masking
from riskjudge.reliability.index import Index
from riskjudge.reliability.published import Published
from riskjudge.reliability.ranking import NoisyRanking, Spread
from riskjudge.share import Rate

_WHAT = {"mean": "mean over the perturbations", "worst": "the worst perturbation"}


def bound_table(found: Masking | Published, source: str, names: tuple[str, ...]) -> Table:
    """Noise for one table of scores."""
    rows = [("in words", found.statement), ("perturbations", ", ".join(names))]
    if isinstance(found, Masking):
        sigma = "none: too few items" if found.sigma is None else f"{found.sigma:.4g}"
        rows += [
            ("noise, standard deviation", sigma),
            ("tau, delta", f"{found.tau:g}, {found.delta:g}"),
            ("effect on an item", _WHAT[found.family]),
            ("independent items", f"{found.n} (need {found.need})"),
            ("scores that changed", percent(found.touched)),
            ("largest change", f"{found.largest:.4g}"),
        ]
        if found.remaining is not None:
            rows.append(("mean effect here", f"{found.remaining:.4f} (bounded by {found.tau:g})"))
        return Table(f"Noise that masks the bias of {source}", ("", ""), tuple(rows))
    rows += [
        ("tau, delta", f"{found.tau:g} (in units of the scores), {found.delta:g}"),
        ("root mean square change", f"{found.sensitivity:.4g}"),
        ("attainable as it is", "yes" if found.attainable else "no: shrinking makes it so"),
        ("factor towards the centre", f"{found.shrink:.4g}"),
        ("largest admissible noise", f"{found.sigma:.4g}"),
    ]
    return Table(f"Average bias-boundedness of {source}", ("", ""), tuple(rows))


def ranking_table(ranking: NoisyRanking) -> Table:
    """Systems by raw mean, and where noise may put them."""
    rows = tuple(
        (
            system.name,
            str(system.n),
            f"{system.mean:.3f}",
            f"{system.noise:.3f}",
            f"{rank:g}",
            f"{system.rank.low:g}–{system.rank.high:g}",
            "" if system.effect is None else f"{system.effect:.3f}",
        )
        for system, rank in zip(ranking.systems, _raw_ranks(ranking), strict=True)
    )
    notes = [
        f"Spearman {_shown(ranking.spearman)}, Kendall {_shown(ranking.kendall)} with the raw ranking; "
        f"a best system stays first in {percent(ranking.best_stays)} of {ranking.draws} draws of noise "
        f"(seed {ranking.seed}); intervals hold 95 % of the draws."
    ]
    if any(system.effect is not None for system in ranking.systems):
        notes.append(
            "effect on the mean: what the noise leaves of the bias of a system's mean; noise averages "
            "out, a bias that all its scores share does not, and tau bounds the effect on single scores."
        )
    header = ("system", "scores", "raw mean", "noise in it", "raw rank", "ranks", "effect on mean")
    return Table("Systems by mean noisy score", header, rows, tuple(notes))


def _raw_ranks(ranking: NoisyRanking) -> list[float]:
    means = [system.mean for system in ranking.systems]
    return [1 + sum(other > mean for other in means) for mean in means]


def _shown(spread: Spread | None) -> str:
    if spread is None:
        return "undefined (all means are equal)"
    return f"{spread.mean:.2f} [{spread.low:.2f}, {spread.high:.2f}]"


def bias_tables(found: Sequence[JudgeBias], source: str) -> list[Table]:
    """Length and position of every judge; self-preference of those that judged their own answers."""
    tables = [_length_table(found, source), _position_table(found)]
    owns = _own_table(found)
    return tables if owns is None else [*tables, owns]


def _length_table(found: Sequence[JudgeBias], source: str) -> Table:
    rows, notes = [], []
    for bias in found:
        v = bias.verbosity
        rows.append(
            (bias.judge, str(v.items), str(v.calls), _rate(v.longer_wins), _rate(v.longer_right),
             _index(v.coefficient), _index(v.doubling), _p(v.coefficient))
        )  # fmt: skip
        if v.coefficient.undefined:
            notes.append(f"{bias.judge}: {v.coefficient.undefined}.")
    controls = {
        bias.verbosity.controls for bias in found if not bias.verbosity.coefficient.undefined
    }
    most = max(controls, key=lambda names: len(names), default=())
    beside = " and ".join(most) or "nothing else"
    notes.append(
        "length: coefficient of the standardised logarithm of the ratio of lengths in a logistic "
        f"regression of who wins, beside {beside}; odds: of winning, for an answer twice as long; p: Holm "
        "over judges. Calls about one item count as one."
    )
    header = ("judge", "items", "calls", "longer wins", "longer is right", "length", "odds", "p")
    return Table(f"Longer answers, {source}", header, tuple(rows), tuple(notes))


def _position_table(found: Sequence[JudgeBias]) -> Table:
    rows = []
    for bias in found:
        lean = bias.position
        share = Rate(lean.first, lean.first + lean.second)
        rows.append(
            (bias.judge, str(bias.first_wins.of), _rate(bias.first_wins), str(share.of), _rate(share),
             str(bias.left_out))
        )  # fmt: skip
    notes = (
        "first wins: calls of trials in both orders, of which one half would be won without a bias; "
        "leaning: items on which the two orders contradict each other; no winner: ties, abstentions "
        "and failures.",
    )
    header = ("judge", "calls in both orders", "first wins", "leaning", "to the first", "no winner")
    return Table("Position", header, tuple(rows), notes)


def _own_table(found: Sequence[JudgeBias]) -> Table | None:
    rows, notes = [], []
    for bias in found:
        s = bias.self_preference
        if s is None:
            continue
        rows.append(
            (bias.judge, s.own, str(s.items), str(s.calls), _rate(s.wins), _rate(s.right),
             _index(s.excess, 100.0, " %"), _p(s.excess))
        )  # fmt: skip
        if s.excess.undefined:
            notes.append(f"{bias.judge}: {s.excess.undefined}.")
    if not rows:
        return None
    notes.append(
        "excess: what its own answers win beyond what they would if the judge found them, where they "
        "are the better ones, as often as it finds the others; p: Holm over judges."
    )
    header = ("judge", "own model", "items", "calls", "own wins", "own is right", "excess", "p")
    return Table("Its own answers", header, tuple(rows), tuple(notes))


def _rate(rate: Rate) -> str:
    if rate.interval is None:
        return UNDEFINED
    low, high = rate.interval
    return f"{percent(rate.value)} [{100 * low:.1f}, {100 * high:.1f}]"


def _index(index: Index, times: float = 1.0, unit: str = "") -> str:
    if index.value is None or index.low is None or index.high is None:
        return UNDEFINED
    digits = 1 if times > 1.0 else 2
    low, high = (f"{times * end:.{digits}f}" for end in (index.low, index.high))
    return f"{times * index.value:.{digits}f}{unit} [{low}, {high}]"


def _p(index: Index) -> str:
    if index.p_holm is None:
        return ""
    return "< .001" if index.p_holm < 0.001 else f"{index.p_holm:.3f}"
