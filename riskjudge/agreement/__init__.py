"""Validating a judge: agreement with humans, with intervals, and the walk that promotes it."""

from riskjudge.agreement.coefficients import (
    Coefficient,
    Undefined,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from riskjudge.agreement.labels import Level
from riskjudge.agreement.position import PositionConsistency, position_consistency
from riskjudge.agreement.promotion import Floors, Promotion, PromotionState, promote
from riskjudge.agreement.promotion_file import PromotionRecord, read_promotion
from riskjudge.agreement.report import AgreementReport, Estimate, Reliability
from riskjudge.agreement.validation import rater_agreement, validate_judge

__all__ = [
    "AgreementReport",
    "Coefficient",
    "Estimate",
    "Floors",
    "Level",
    "PositionConsistency",
    "Promotion",
    "PromotionRecord",
    "PromotionState",
    "Reliability",
    "Undefined",
    "cohen_kappa",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "percent_agreement",
    "position_consistency",
    "promote",
    "rater_agreement",
    "read_promotion",
    "validate_judge",
]
