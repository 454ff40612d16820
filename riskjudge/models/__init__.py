"""Chat models behind an OpenAI-compatible endpoint, as judges.

Nothing here imports an SDK or a model runtime until a model is asked.
"""

from riskjudge.models.cache import ReplyCache
from riskjudge.models.chat import ModelError, Reply, Request, parse_reply
from riskjudge.models.client import ModelClient
from riskjudge.models.endpoint import Endpoint
from riskjudge.models.judge import ModelJudge, ModelSettings, SelfEvaluatingJudge, measure_of
from riskjudge.models.limits import Budget, RateLimit
from riskjudge.models.local import LocalServer, small_model

__all__ = [
    "Budget",
    "Endpoint",
    "LocalServer",
    "ModelClient",
    "ModelError",
    "ModelJudge",
    "ModelSettings",
    "RateLimit",
    "Reply",
    "ReplyCache",
    "Request",
    "SelfEvaluatingJudge",
    "measure_of",
    "parse_reply",
    "small_model",
]
