"""From a promise about the population to one finite batch of accepted verdicts."""

from __future__ import annotations

from dataclasses import dataclass

from riskjudge import binomial
from riskjudge.calibration.certificate import Certificate, Guarantee
from riskjudge.errors import InputError


@dataclass(frozen=True, slots=True)
class BatchBound:
    """How many of a batch's accepted verdicts may be wrong.

    Attributes
    ----------
    accepted : int
        Accepted verdicts in the batch.
    wrong : int
        Largest number of wrong ones to reckon with.
    share : float or None
        ``wrong / accepted``; None (UNDEFINED) in an empty batch.
    confidence : float
        Of `wrong`, calibration and batch taken together.
    wrong_if_fixed : int or None
        The same from the counts of the calibration, for a rule fixed in advance (see
        :func:`predicted_errors`); None where the certificate accepts nothing.
    statement : str
    """

    accepted: int
    wrong: int
    share: float | None
    confidence: float
    wrong_if_fixed: int | None
    statement: str


def batch_bound(certificate: Certificate, accepted: int, level: float = 0.05) -> BatchBound | None:
    """Bound on the wrong verdicts of a new batch, valid for the rule that the calibration chose.

    Parameters
    ----------
    certificate : Certificate
    accepted : int
        Verdicts of the batch that the certified rule accepts.
    level : float
        Probability granted to the luck of the batch, on top of the certificate's delta.

    Returns
    -------
    BatchBound or None
        None where the certificate promises nothing with high probability.

    Notes
    -----
    *Claim:* with k the smallest number for which ``P(Bin(m, alpha) > k) <= level``, more than k of
    the m accepted verdicts are wrong with probability at most ``delta + level``.

    *Proof.* Let the batch be independent of the calibration (labels and pool), its items
    independent draws from the population. Unless an event of probability at most delta occurs, the
    chosen rule has a risk R of at most alpha. The rule is then fixed as far as the batch is
    concerned: given that m items are accepted their errors are Bin(m, R), which exceeds k no more
    often than Bin(m, alpha) does. Add the two. (A batch that served as the pool has placed the
    thresholds by its scores; then it is an approximation.)

    Examples
    --------
    >>> from riskjudge.calibration import Portfolio, Sample
    >>> import numpy as np
    >>> scores = np.linspace(0, 1, 500)[:, None]
    >>> wrong = (np.arange(500) % 29 == 0)[:, None].astype(int)
    >>> sample = Sample(scores, wrong, np.zeros(500, int), ("judge",))
    >>> bound = batch_bound(Portfolio().certify(sample, 0.1, 0.05), 300)
    >>> bound.wrong, round(bound.confidence, 3), bound.wrong_if_fixed
    (39, 0.9, 18)
    """
    binomial.check_level(level, "level")
    if accepted < 0:
        raise InputError(f"accepted must not be negative, got {accepted}")
    if not certificate.certified or certificate.guarantee is not Guarantee.HIGH_PROBABILITY:
        return None
    delta = certificate.delta if certificate.look is None else certificate.look.delta_of_all
    if certificate.delta_of_fits is not None:
        delta = certificate.delta_of_fits
    from scipy import stats  # slow to import

    wrong = int(stats.binom.isf(level, accepted, certificate.alpha)) if accepted else 0
    confidence = max(0.0, 1.0 - delta - level)
    if_fixed = predicted_errors(certificate.errors, certificate.accepted, accepted, level)
    statement = (
        f"Of these {accepted} accepted verdicts at most {wrong} are wrong, with confidence "
        f"{100 * confidence:.6g} % ({100 * delta:.4g} % for the certificate, {100 * level:g} % for the "
        "luck of the batch); the batch must be independent of the calibration."
    )
    share = wrong / accepted if accepted else None
    return BatchBound(accepted, wrong, share, confidence, if_fixed, statement)


def predicted_errors(errors: int, of: int, accepted: int, level: float = 0.05) -> int:
    """Exact upper prediction bound of the errors in a batch, from those in another.

    The smallest k for which a beta-binomial with ``errors + 1`` and ``of - errors`` exceeds k with
    probability at most `level`.

    Notes
    -----
    *Validity.* Let w of m and W of M be the errors of two independent batches at one risk, whatever
    it is: given ``w + W`` the errors are spread hypergeometrically, and W exceeds this bound with
    probability at most `level` [1]_. So it holds **for a rule fixed in advance**. A rule that was
    chosen on the first batch has had luck there: for it only :func:`batch_bound` is proved.

    References
    ----------
    .. [1] A. R. Thatcher, "Relationships between Bayesian and confidence limits for predictions",
       JRSS-B 26, 1964.

    Examples
    --------
    >>> predicted_errors(5, 100, 100), predicted_errors(0, 10, 0)
    (12, 0)
    """
    if not 0 <= errors <= of or accepted < 0:
        raise InputError(f"counts must satisfy 0 <= errors <= of, got {errors} of {of}")
    if accepted == 0:
        return 0
    if errors == of:
        return accepted
    low, high = -1, accepted  # P(W > accepted) = 0
    from scipy import stats  # slow to import

    posterior = stats.betabinom(accepted, errors + 1, of - errors)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if posterior.sf(middle) <= level else (middle, high)
    return high
