"""How fast, and how much: a rate limit and a budget, shared by all threads of a run."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError
from riskjudge.llm.chat import ModelError


class RateLimit:
    """Lets calls start no faster than a rate; threads wait for their turn.

    Parameters
    ----------
    per_second
        Calls a second, evenly spaced.
    """

    def __init__(self, per_second: float) -> None:
        if not per_second > 0:
            raise InputError(f"a rate is a positive number of calls a second, got {per_second!r}")
        self.spacing = 1.0 / per_second
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when the next call may start."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self.spacing
        time.sleep(max(0.0, turn - time.monotonic()))


@dataclass
class Budget:
    """What a run may spend; None is no limit.

    The number of calls is kept exactly, each try counted. Tokens and money are known only when a
    reply is there, so that the calls then under way may overshoot. Replies from the cache are free.

    Parameters
    ----------
    calls, tokens
        Calls, and tokens in and out together.
    money
        In the currency of the prices.
    price_in, price_out
        Of a million tokens.

    Examples
    --------
    >>> budget = Budget(calls=1)
    >>> budget.reserve()
    >>> budget.reserve()
    Traceback (most recent call last):
    ...
    riskjudge.llm.chat.ModelError: the budget of 1 calls is spent
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0
    spent_calls: int = field(default=0, init=False)
    spent_in: int = field(default=0, init=False)
    spent_out: int = field(default=0, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.money is not None and not (self.price_in > 0 or self.price_out > 0):
            raise InputError("a budget of money needs the price of a million tokens, in or out")

    @property
    def spent_money(self) -> float:
        """What the tokens so far cost."""
        return (self.spent_in * self.price_in + self.spent_out * self.price_out) / 1e6

    def reserve(self) -> None:
        """Count a call that is about to be made.

        Raises
        ------
        ModelError
            ``budget``, if a limit is reached; the call must not be made.
        """
        with self._lock:
            if self.calls is not None and self.spent_calls >= self.calls:
                raise ModelError(FailureKind.BUDGET, f"the budget of {self.calls} calls is spent")
            if self.tokens is not None and self.spent_in + self.spent_out >= self.tokens:
                raise ModelError(FailureKind.BUDGET, f"the budget of {self.tokens} tokens is spent")
            if self.money is not None and self.spent_money >= self.money:
                raise ModelError(FailureKind.BUDGET, f"the budget of {self.money:g} is spent")
            self.spent_calls += 1

    def charge(self, tokens_in: int, tokens_out: int) -> None:
        """Add the tokens of a reply."""
        with self._lock:
            self.spent_in += tokens_in
            self.spent_out += tokens_out
