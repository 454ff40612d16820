"""What the reliability commands print."""

from __future__ import annotations

from riskjudge.display.table import Table, percent
from riskjudge.reliability.bounded import Masking, Published
from riskjudge.reliability.ranking import NoisyRanking, Spread

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
