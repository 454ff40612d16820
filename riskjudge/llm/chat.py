"""One exchange with a chat model: the request, the reply, and the ways it fails."""

from __future__ import annotations

import hashlib
import json
import math
import re
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
    failure : Failure
        What it is in the closed vocabulary of failures.
    retry_in : float or None
        None where asking again at once is pointless; 0 for "after the usual back-off"; else the
        seconds that the endpoint asked for.
    stops : bool
        Whether nothing that is asked after it can be answered either: the budget or the quota is
        used up.

    Parameters
    ----------
    kind : FailureKind
        How it failed.
    message : str
        What was seen.
    retry_in : float, optional
        As the attribute.
    stops : bool
        As the attribute.
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        retry_in: float | None = None,
        *,
        stops: bool = False,
    ) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message[:500])
        self.retry_in = retry_in
        self.stops = stops


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent to an OpenAI-compatible ``chat/completions``.

    Parameters
    ----------
    model : str
        The model's name at the endpoint.
    messages : tuple of mapping
        ``{"role": …, "content": …}``.
    max_tokens : int
        Longest reply.
    temperature : float
        0 for the greedy pass.
    top_logprobs : int, optional
        How many alternatives to return at each token; None asks for no log-probabilities.
    seed : int, optional
        Of the sampling; None sends none.
    extra : mapping
        More fields of the body; a null takes a field away.
    sample : int, optional
        Which of several samples of one question this is. It is not sent, and yet tells the samples
        apart: an endpoint may ignore the seed, or `extra` take it away.

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
    sample: int | None = None

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
        """SHA-256 of the whole request, where it goes, and which sample it is for."""
        parts = [endpoint, self.body, *([] if self.sample is None else [self.sample])]
        content = json.dumps(parts, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(content.encode()).hexdigest()

    def with_seed(self, seed: int) -> Request:
        """The same request with a seed."""
        return replace(self, seed=seed)

    def for_sample(self, number: int) -> Request:
        """The same request for one of several samples, from 0, each with a seed of its own."""
        return replace(self, seed=(self.seed or 0) + number, sample=number)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes
    ----------
    text : str
        The message.
    tokens : tuple of Token, optional
        The message token by token; None where the endpoint gave no log-probabilities.
    finish : str, optional
        Why the model stopped: ``stop``, ``length``, …
    """

    text: str
    tokens: tuple[Token, ...] | None = None
    finish: str | None = None


_CUT_OFF = ("length", "max_tokens", "max_output_tokens", "model_length", "incomplete")
_REFUSED = (
    *("refusal", "content_filter", "safety", "recitation", "prohibited_content", "blocklist"),
    *("guardrail_intervened", "spii", "moderation", "content_filtered"),
)
_FILTERED = re.compile(
    r"content[ _-]?(?:filter|policy|management)|responsible ?ai|moderation|flagged|safety (?:system|polic)",
    re.IGNORECASE,
)
_USED_UP = re.compile(
    r"insufficient_quota|exceeded your current quota|billing_hard_limit|credit balance|out of credits"
    r"|insufficient (?:credits|balance|funds)|quota (?:is )?(?:exceeded|exhausted|used up)",
    re.IGNORECASE,
)


def parse_reply(body: str) -> Reply:
    """Read the JSON of a chat completion.

    Log-probabilities that are missing or malformed leave `tokens` None: the verdict may still
    stand, its confidence is then missing. What a model reasons in a field of its own is not read.

    Parameters
    ----------
    body : str
        Of an HTTP reply with status 200.

    Returns
    -------
    Reply

    Raises
    ------
    ModelError
        ``parse`` if it is no JSON or no completion, ``truncated`` if the reply was cut off,
        ``refusal`` if the model or a filter refused, ``status`` if an error stands beside the
        answer.

    Examples
    --------
    >>> parse_reply('{"choices": [{"message": {"content": "Verdict: True"}, "finish_reason": "stop"}]}')
    Reply(text='Verdict: True', tokens=None, finish='stop')
    """
    try:
        root = json.loads(body)
    except (ValueError, RecursionError):
        raise ModelError(FailureKind.PARSE, f"the reply is not JSON: {body[:80]!r}") from None
    choice = _choice(root)
    if (error := _error_in(root) or _error_in(choice)) is not None:
        raise error_reply(200, error, "choices" in root if isinstance(root, dict) else False)
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelError(FailureKind.PARSE, f"no chat completion: {body[:80]!r}")
    finish, refusal = choice.get("finish_reason"), message.get("refusal")
    if finish is not None and not isinstance(finish, str):
        raise ModelError(FailureKind.PARSE, f"`finish_reason` is a text, got {finish!r:.80}")
    said = (finish or "").casefold()
    text = _text(message.get("content"))
    if refusal or said in _REFUSED:
        raise ModelError(FailureKind.REFUSAL, f"the model refused: {str(refusal or finish)[:200]}")
    if said in _CUT_OFF:
        raise ModelError(
            FailureKind.TRUNCATED, f"the reply was cut off ({finish}): {(text or '')[-120:]!r}"
        )
    if said == "error":
        raise ModelError(FailureKind.STATUS, "the reply ended in an error")
    if text is None:
        raise ModelError(FailureKind.PARSE, f"the message has no text (finish: {finish})")
    return Reply(text, _tokens(choice.get("logprobs")), finish)


def error_reply(status: int, said: str, beside: bool = True) -> ModelError:
    """What an error that an endpoint words amounts to: a refusal, a used-up quota, or a status.

    Parameters
    ----------
    status : int
        Of the HTTP reply.
    said : str
        The error, or the body that holds it.
    beside : bool
        Whether the body is a completion all the same.

    Returns
    -------
    ModelError
    """
    shown = " ".join(said.split())[:200]
    message = f"HTTP {status}: {shown}" if shown else f"HTTP {status}"
    if status == 402 or _USED_UP.search(said):
        return ModelError(FailureKind.BUDGET, f"the quota is used up: {message}", stops=True)
    if status < 500 and status not in (401, 404, 408, 429) and _FILTERED.search(said):
        return ModelError(FailureKind.REFUSAL, f"a filter refused: {message}")
    if status == 200 and not beside:
        return ModelError(FailureKind.PARSE, f"no chat completion but an error: {shown}")
    return ModelError(FailureKind.STATUS, message)


def _choice(root: Any) -> Any:
    choices = root.get("choices") if isinstance(root, dict) else None
    return choices[0] if isinstance(choices, list) and choices else None


def _error_in(record: Any) -> str | None:
    """An error that stands in a reply's body, as text."""
    if not isinstance(record, dict):
        return None
    if record.get("error"):
        error = record["error"]
        return error if isinstance(error, str) else json.dumps(error)
    for name in ("status_code", "status", "code"):
        value = record.get(name)
        number = int(value) if isinstance(value, str) and re.fullmatch(r"\d{3}", value) else value
        if isinstance(number, int) and not isinstance(number, bool) and 400 <= number < 600:
            return json.dumps({name: value, "message": str(record.get("message", ""))[:120]})
    return None


def _text(content: Any) -> str | None:
    """The message's text; of one that comes in parts, the parts that are text."""
    if isinstance(content, list):
        parts = [p for p in content if isinstance(p, dict) and p.get("type") in ("text", None)]
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        return "".join(texts) if texts else None
    return content if isinstance(content, str) else None


def usage_of(body: str) -> tuple[int, int] | None:
    """Tokens in and out that the endpoint says it used; None where it does not say.

    Parameters
    ----------
    body : str
        Of the HTTP reply.

    Returns
    -------
    tuple of int or None
        No call is free of tokens: a count of none going in says as little as a missing one.
    """
    try:
        usage = json.loads(body)["usage"]
        tokens_in, tokens_out = usage["prompt_tokens"], usage["completion_tokens"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not all(type(tokens) is int for tokens in (tokens_in, tokens_out)):
        return None
    return (tokens_in, tokens_out) if tokens_in > 0 and tokens_out >= 0 else None


def _tokens(logprobs: Any) -> tuple[Token, ...] | None:
    try:
        return tuple(_token(entry) for entry in logprobs["content"]) or None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _token(entry: Mapping[str, Any]) -> Token:
    raw = entry.get("bytes")
    if raw is not None and not isinstance(raw, list):
        raise ValueError(f"{raw!r:.40} are no bytes")
    top = tuple(
        Alternative(str(other["token"]), _number(other["logprob"]))
        for other in entry.get("top_logprobs") or ()
    )
    distinct = {other.token: other.logprob for other in top}
    if sum(map(math.exp, distinct.values())) > _MOST:
        raise ValueError("the probabilities add up to more than one")
    return Token(
        str(entry["token"]), _number(entry["logprob"]), top, None if raw is None else bytes(raw)
    )


_MOST = 1.05
"""Rounded probabilities may add up to a little more than one; more than this are none."""


def _number(value: Any) -> float:
    # Minus infinity is written as null by some endpoints; a log-probability is never positive.
    number = -math.inf if value is None else float(value)
    if math.isnan(number) or number > 1e-3:
        raise ValueError(f"{value!r} is no log-probability")
    return min(number, 0.0)
