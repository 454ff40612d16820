"""One exchange with a chat model: the request, the reply, and the ways it fails."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from riskjudge.data.verdict import Failure, FailureKind
from riskjudge.errors import OperationalError
from riskjudge.uncertainty.tokens import Alternative, Token


class ModelError(OperationalError):
    """An exchange that gave no answer.

    Attributes
    ----------
    failure
        What it is in the closed vocabulary of failures.
    retry_in
        None where asking again at once is pointless; 0 for "after the usual back-off"; else the
        seconds that the endpoint asked for.
    """

    def __init__(self, kind: FailureKind, message: str, retry_in: float | None = None) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message[:500])
        self.retry_in = retry_in


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent to an OpenAI-compatible ``chat/completions``.

    Parameters
    ----------
    model
        The model's name at the endpoint.
    messages
        ``{"role": …, "content": …}``.
    max_tokens
        Longest reply.
    temperature
        0 for the greedy pass.
    top_logprobs
        How many alternatives to return at each token; None asks for no log-probabilities.
    seed
        Of the sampling; None sends none.
    extra
        More fields of the body; a null takes a field away.

    Examples
    --------
    >>> request = Request("m", ({"role": "user", "content": "2+2?"},), extra={"seed": 3})
    >>> request.body["seed"], request.body["temperature"]
    (3, 0.0)
    >>> request.key("https://a.example/v1") == request.key("https://b.example/v1")
    False
    """

    model: str
    messages: tuple[Mapping[str, str], ...]
    max_tokens: int = 64
    temperature: float = 0.0
    top_logprobs: int | None = 20
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        """The JSON body."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in self.messages],
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "logprobs": True if self.top_logprobs else None,
            "top_logprobs": self.top_logprobs,
            "seed": self.seed,
            **self.extra,
        }
        return {name: value for name, value in body.items() if value is not None}

    def key(self, endpoint: str) -> str:
        """SHA-256 of the whole request and where it goes."""
        content = json.dumps([endpoint, self.body], sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def with_seed(self, seed: int) -> Request:
        """The same request with a seed."""
        return replace(self, seed=seed)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes
    ----------
    text
        The message.
    tokens
        The message token by token; None where the endpoint gave no log-probabilities.
    finish
        Why the model stopped: ``stop``, ``length``, …
    """

    text: str
    tokens: tuple[Token, ...] | None = None
    finish: str | None = None


def parse_reply(body: str) -> Reply:
    """Read the JSON of a chat completion.

    Log-probabilities that are missing or malformed leave `tokens` None: the verdict may still
    stand, its confidence is then missing.

    Raises
    ------
    ModelError
        ``parse`` if it is no JSON or no completion, ``refusal`` if the model or a filter refused.

    Examples
    --------
    >>> parse_reply('{"choices": [{"message": {"content": "Verdict: True"}, "finish_reason": "stop"}]}')
    Reply(text='Verdict: True', tokens=None, finish='stop')
    """
    try:
        choice = json.loads(body)["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text, refusal = message.get("content"), message.get("refusal")
    except (ValueError, RecursionError):
        raise ModelError(FailureKind.PARSE, f"the reply is not JSON: {body[:80]!r}") from None
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ModelError(FailureKind.PARSE, f"no chat completion: {body[:80]!r}") from None
    if refusal or finish == "content_filter":
        raise ModelError(FailureKind.REFUSAL, f"the model refused: {str(refusal or finish)[:200]}")
    if not isinstance(text, str):
        raise ModelError(FailureKind.PARSE, f"the message has no text (finish: {finish})")
    return Reply(text, _tokens(choice.get("logprobs")), finish)


def usage_of(body: str) -> tuple[int, int]:
    """Tokens in and out that the endpoint says it used; zeros where it does not say."""
    try:
        usage = json.loads(body)["usage"]
        return max(0, int(usage["prompt_tokens"])), max(0, int(usage["completion_tokens"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0, 0


def _tokens(logprobs: Any) -> tuple[Token, ...] | None:
    try:
        return tuple(_token(entry) for entry in logprobs["content"]) or None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _token(entry: Mapping[str, Any]) -> Token:
    raw = entry.get("bytes")
    top = tuple(
        Alternative(str(other["token"]), _number(other["logprob"]))
        for other in entry.get("top_logprobs") or ()
    )
    return Token(
        str(entry["token"]), _number(entry["logprob"]), top, None if raw is None else bytes(raw)
    )


def _number(value: Any) -> float:
    # Minus infinity is written as null by some endpoints; a log-probability is never positive.
    number = -math.inf if value is None else float(value)
    if math.isnan(number) or number > 1e-3:
        raise ValueError(f"{value!r} is no log-probability")
    return min(number, 0.0)
