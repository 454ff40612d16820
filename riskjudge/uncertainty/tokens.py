"""What a model said, token by token, with the likeliest alternatives at each place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Alternative:
    """A token that could have stood at a place.

    Parameters
    ----------
    token : str
        Its text.
    logprob : float
        Log-probability in nats.
    """

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a reply.

    Parameters
    ----------
    token : str
        Its text.
    logprob : float
        Log-probability in nats.
    top : tuple of Alternative
        The likeliest tokens at this place, the token itself as a rule among them.
    raw : bytes, optional
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
    the reply is looked for in what the tokens spell, and its last occurrence counts. Some endpoints
    return tokens as the vocabulary writes them (``▁True``, ``ĠTrue``); the marks are written out.

    Parameters
    ----------
    tokens : sequence of Token
        Of the whole reply.
    reply : str
        Its text.
    start, end : int
        The part, in characters of the reply.

    Returns
    -------
    tuple of Token

    Examples
    --------
    >>> spelled = [Token("Verdict", -0.1), Token(":", 0.0), Token(" Fal", -0.4), Token("se", 0.0)]
    >>> [token.token for token in tokens_at(spelled, "Verdict: False", 9, 14)]
    [' Fal', 'se']
    >>> marked = [Token("Verdict", -0.1), Token(":", 0.0), Token("ĠFalse", -0.4)]
    >>> [token.token for token in tokens_at(marked, "Verdict: False", 9, 14)]
    [' False']
    """
    wanted = reply.encode("utf-8", "replace")
    for written_out in _SPELLINGS:
        plain = [_plain(token, written_out) for token in tokens]
        shift = b"".join(token.data for token in plain).rfind(wanted)
        if shift >= 0:
            break
    else:
        return ()
    first = shift + len(reply[:start].encode("utf-8", "replace"))
    last = first + len(reply[start:end].encode("utf-8", "replace"))
    found, at = [], 0
    for token in plain:
        if at < last and at + len(token.data) > first:
            found.append(token)
        at += len(token.data)
    return tuple(found)


def _plain(token: Token, written_out: Callable[[str], bytes]) -> Token:
    """The token and its alternatives as the text that they stand for."""
    if written_out is _as_it_is:
        return token
    top = tuple(
        replace(other, token=written_out(other.token).decode("utf-8", "replace"))
        for other in token.top
    )
    raw = written_out(token.token)
    return replace(token, token=raw.decode("utf-8", "replace"), top=top, raw=raw)


def _as_it_is(text: str) -> bytes:
    return text.encode("utf-8", "replace")


_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _sentence_piece(text: str) -> bytes:
    """SentencePiece writes a space as a low block, and a byte in hexadecimal."""
    if byte := _BYTE.fullmatch(text):
        return bytes([int(byte[1], 16)])
    return text.replace("\u2581", " ").encode("utf-8", "replace")


def _byte_level(text: str) -> bytes:
    """Byte-level BPE gives each byte a printable character of its own."""
    table = _byte_table()
    return b"".join(bytes([table[c]]) if c in table else c.encode("utf-8", "replace") for c in text)


@lru_cache
def _byte_table() -> dict[str, int]:
    # Printable characters of Latin-1 stand for themselves; the others, in order, for U+0100 on.
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + place): byte for place, byte in enumerate(others)
    }


_SPELLINGS = (_as_it_is, _sentence_piece, _byte_level)
