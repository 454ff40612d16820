"""What a model said, token by token, with the likeliest alternatives at each place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that could have stood at a place, and its log-probability in nats."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a reply.

    Parameters
    ----------
    token
        Its text.
    logprob
        Log-probability in nats.
    top
        The likeliest tokens at this place, the token itself as a rule among them.
    raw
        Its bytes, where the endpoint gave them: a character may be spread over several tokens.
    """

    token: str
    logprob: float
    top: tuple[Alternative, ...] = ()
    raw: bytes | None = None

    @property
    def data(self) -> bytes:
        """The token as UTF-8 bytes."""
        return self.token.encode("utf-8", "replace") if self.raw is None else self.raw


def tokens_at(tokens: Sequence[Token], reply: str, start: int, end: int) -> tuple[Token, ...]:
    """The tokens that spell ``reply[start:end]``; empty if the tokens do not spell the reply.

    An endpoint may strip the reply, or leave out what came before it (a chain of thought, say), so
    the reply is looked for in what the tokens spell, and its last occurrence counts.

    Examples
    --------
    >>> spelled = [Token("Verdict", -0.1), Token(":", 0.0), Token(" Fal", -0.4), Token("se", 0.0)]
    >>> [token.token for token in tokens_at(spelled, "Verdict: False", 9, 14)]
    [' Fal', 'se']
    """
    spelled = b"".join(token.data for token in tokens)
    shift = spelled.rfind(reply.encode("utf-8", "replace"))
    if shift < 0:
        return ()
    first = shift + len(reply[:start].encode("utf-8", "replace"))
    last = first + len(reply[start:end].encode("utf-8", "replace"))
    found, at = [], 0
    for token in tokens:
        if at < last and at + len(token.data) > first:
            found.append(token)
        at += len(token.data)
    return tuple(found)
