"""Chat models behind an OpenAI-compatible endpoint.

Nothing here imports an SDK or a model runtime until a model is asked.
"""

from riskjudge.llm.cache import ReplyCache
from riskjudge.llm.chat import ModelError, Reply, Request, parse_reply
from riskjudge.llm.client import ModelClient
from riskjudge.llm.endpoint import Endpoint
from riskjudge.llm.limits import Budget, RateLimit
from riskjudge.llm.local import LocalServer, small_model

__all__ = [
    "Budget",
    "Endpoint",
    "LocalServer",
    "ModelClient",
    "ModelError",
    "RateLimit",
    "Reply",
    "ReplyCache",
    "Request",
    "parse_reply",
    "small_model",
]
