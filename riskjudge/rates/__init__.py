"""How good is the system? Pass rates, comparisons and rankings corrected for the judge's errors."""

from riskjudge.rates.comparison import Difference, Ranking, rank_systems
from riskjudge.rates.estimate import Estimate
from riskjudge.rates.report import DEFAULT, ESTIMATORS, RateReport, estimate_rates
from riskjudge.rates.sample import RateSample
from riskjudge.rates.systems import SystemRates, rate_systems

__all__ = [
    "DEFAULT",
    "ESTIMATORS",
    "Difference",
    "Estimate",
    "Ranking",
    "RateReport",
    "RateSample",
    "SystemRates",
    "estimate_rates",
    "rank_systems",
    "rate_systems",
]
