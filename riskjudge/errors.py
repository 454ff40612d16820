"""Errors that a user can act on.

Everything riskjudge raises on purpose derives from :class:`RiskJudgeError`. The command line turns
:class:`InputError` into exit code 2 and :class:`OperationalError` into exit code 3.
"""


class RiskJudgeError(Exception):
    """Base class of every error that riskjudge raises on purpose."""


class InputError(RiskJudgeError, ValueError):
    """The input is wrong. The message names the row or field and says what would be right."""


class OperationalError(RiskJudgeError, RuntimeError):
    """The input is fine, but the work could not be done (disk, network, missing extra)."""


class NotFittedError(RiskJudgeError, ValueError):
    """The gate has not been fitted yet."""
