"""How unsure a model is of its verdict. Higher is less sure, in nats where it is an entropy."""

from riskjudge.uncertainty.entropy import (
    NoConfidence,
    VerdictMass,
    binary_entropy,
    entropy_of_log_odds,
    verdict_mass,
)
from riskjudge.uncertainty.probe import Probe, fit_probe
from riskjudge.uncertainty.sampling import (
    OutOfRange,
    Votes,
    bidirectional_preference_entropy,
    verbalised_confidence,
)
from riskjudge.uncertainty.tokens import Alternative, Token, tokens_at

__all__ = [
    "Alternative",
    "NoConfidence",
    "OutOfRange",
    "Probe",
    "Token",
    "VerdictMass",
    "Votes",
    "bidirectional_preference_entropy",
    "binary_entropy",
    "entropy_of_log_odds",
    "fit_probe",
    "tokens_at",
    "verbalised_confidence",
    "verdict_mass",
]
